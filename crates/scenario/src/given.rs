//! The values that a scenario was made from, to make others from them and to write them to a file.

use std::borrow::Cow;
use std::path::{Path as FilePath, PathBuf, absolute};

use language::error::{Errors, Place, Problem, Source};
use language::overrides::Override;
use language::path::Path;
use language::shape;
use language::tree::{Entry, Origin, Tree, Value};
use language::write;
use serde_json::Value as Json;

use crate::load::{Loaded, complete};
use crate::mix::Spelt;
use crate::model::Scenario;
use crate::schema;

/// The values that a scenario was made from, overrides included, and where each was written.
#[derive(Clone, Debug)]
pub struct Given {
    pub(crate) source: Source,
    pub(crate) tree: Tree,
    pub(crate) spelt: Spelt,
}

/// A scenario to be kept in a folder: its text, and the files that it names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Packed {
    /// TOML that names the files as they are called in the folder.
    pub text: String,
    /// Name in the folder and present place of each file.
    pub files: Vec<(String, PathBuf)>,
}

impl Given {
    /// The same scenario with `sets` written over it.
    ///
    /// # Errors
    /// All errors of the overrides and of the resulting scenario.
    pub fn with(&self, sets: &[Override]) -> Result<Loaded, Errors> {
        complete(self.source.clone(), self.tree.clone(), sets)
    }

    /// The values with the flows of mixes behind those of the scenario.
    pub(crate) fn whole(&self) -> Cow<'_, Tree> {
        match self.spelt.flows.is_empty() {
            true => Cow::Borrowed(&self.tree),
            false => Cow::Owned(self.spelt.within(&self.tree)),
        }
    }

    /// The same scenario with the flows of its mixes in place of these.
    ///
    /// # Errors
    /// None: the scenario has been checked already.
    pub fn without_mixes(&self) -> Result<Loaded, Errors> {
        let mut tree = self.whole().into_owned();
        if let Value::Table(entries) = &mut tree.value {
            entries.retain(|entry| entry.key != "mix");
        }
        complete(self.source.clone(), tree, &[])
    }

    /// The written values, overrides included, with name and seed: no other defaults, the flows of
    /// mixes in place of these, and absolute names of files.
    pub fn values(&self, scenario: &Scenario) -> Json {
        let mut tree = self.whole().into_owned();
        let mut name = |file: &FilePath| {
            absolute(file).unwrap_or(file.to_owned()).to_string_lossy().into_owned()
        };
        rename_files(&mut tree, self.source.directory(), schema::cached(), &mut name);
        let mut json = tree.to_json();
        if let Some(table) = json.as_object_mut() {
            table.remove("mix");
            table.insert("name".to_owned(), scenario.name.as_str().into());
            table.insert("seed".to_owned(), scenario.seed.into());
        }
        json
    }

    /// The scenario as a file that runs to the same recording as `scenario` with `seed`, from any
    /// folder of this machine. Comments and order are those of the file it came from, unless an
    /// override changed it.
    pub fn to_toml(&self, scenario: &Scenario, seed: u64) -> String {
        self.text(scenario, seed, false, |file| {
            absolute(file).unwrap_or(file.to_owned()).to_string_lossy().into_owned()
        })
    }

    /// The scenario for a folder that can be moved to another machine.
    pub fn packed(&self, scenario: &Scenario, seed: u64) -> Packed {
        let mut files: Vec<(String, PathBuf)> = Vec::new();
        let text = self.text(scenario, seed, true, |file| {
            if let Some((name, _)) = files.iter().find(|(_, known)| known == file) {
                return name.clone();
            }
            let ending = file.extension().map_or("csv".into(), |ending| ending.to_string_lossy());
            let name = format!("input-{}.{ending}", files.len());
            files.push((name.clone(), file.to_owned()));
            name
        });
        Packed { text, files }
    }

    /// The scenario as TOML in which nothing depends on the name of its file or on options of a
    /// command, and files have the names of `rename`. If it is `whole`, tables take the place of
    /// files that name other files.
    fn text(
        &self,
        scenario: &Scenario,
        seed: u64,
        whole: bool,
        mut rename: impl FnMut(&FilePath) -> String,
    ) -> String {
        let mut tree = self.tree.clone();
        if whole {
            write_out(&mut tree, self.source.directory(), schema::cached());
        }
        rename_files(&mut tree, self.source.directory(), schema::cached(), &mut rename);
        let mut missing = String::new();
        if tree.get("name").is_none() {
            missing += &format!("name = {}\n", write::string(&scenario.name));
        }
        match entry(&mut tree, "seed") {
            Some(entry) => entry.tree.value = Value::Integer(seed.into()),
            None => missing += &format!("seed = {seed}\n"),
        }
        let unchanged =
            Tree::parse(&self.source.text).is_ok_and(|written| written.to_json() == tree.to_json());
        missing + &if unchanged { self.source.text.clone() } else { write::document(&tree) }
    }

    /// The place of a key of entry number `index` of a table, or of what is nearest above it. A
    /// number in the key is a place in a list.
    pub fn place(&self, table: &str, index: usize, key: &str) -> Place {
        let parts = key.split('.').filter(|part| !part.is_empty());
        let step = |path: Path, part: &str| match part.parse() {
            Ok(number) => path.index(number),
            Err(_) => path.key(part),
        };
        let path = parts.fold(Path::entry(table, index), step);
        let path = self.spelt.place(&path).unwrap_or(path);
        self.source.place(&self.tree.nearest(&path).origin)
    }

    /// The file that it came from and the overrides since, as a command line would have them.
    pub fn origin(&self) -> String {
        let file = self.source.file.iter().map(|file| file.display().to_string());
        let sets = self.source.sets.iter().map(|set| format!("--set '{set}'"));
        file.chain(sets).collect::<Vec<_>>().join(" ")
    }
}

/// The place of the file that `tree` names: one in a scenario file counts from that file, one in an
/// override or a program from the current directory.
pub(crate) fn located(tree: &Tree, directory: &FilePath, name: &str) -> PathBuf {
    match tree.origin {
        Origin::File(..) => directory.join(name),
        Origin::Set(_) | Origin::Program => PathBuf::from(name),
    }
}

/// Errors of another file, an `orbit` for example, which the value at `path` names, at their places
/// in it.
pub(crate) fn of_file(errors: Errors, path: &Path, what: &str) -> impl Iterator<Item = Problem> {
    errors.0.into_iter().map(move |error| {
        let reason = match (error.path.as_str(), error.reason) {
            ("", reason) => reason,
            (key, None) => Some(format!("`{key}` of the {what}")),
            (key, Some(reason)) => Some(format!("`{key}` of the {what}, {reason}")),
        };
        let problem = Problem::new(path.clone(), error.expected, error.found);
        let elsewhere = Some(Box::new(error.place));
        Problem { reason, elsewhere, suggestion: error.suggestion, ..problem }
    })
}

fn entry<'a>(tree: &'a mut Tree, key: &str) -> Option<&'a mut Entry> {
    match &mut tree.value {
        Value::Table(entries) => entries.iter_mut().find(|entry| entry.key == key),
        _ => None,
    }
}

/// The names of files that a scenario in TOML refers to, in their order.
///
/// Behind the name of each file of `bentpipe orbit` are those of the files that it refers to. All
/// count from `folder`, where the scenario is. None if it is not TOML.
pub fn files(text: &str, folder: &FilePath) -> Vec<String> {
    let mut names = Vec::new();
    let Ok(mut tree) = Tree::parse(text) else { return names };
    each_file(&mut tree, schema::cached(), &mut |tree, options| {
        let Value::String(name) = &tree.value else { return };
        names.push(name.clone());
        if names_files(options) {
            names.extend(files_of_orbit(folder, FilePath::new(name)));
        }
    });
    names
}

/// The files that a file of `bentpipe orbit` names, by their names from `folder`.
fn files_of_orbit(folder: &FilePath, orbit: &FilePath) -> Vec<String> {
    let mut names = Vec::new();
    let text = std::fs::read_to_string(folder.join(orbit)).unwrap_or_default();
    let Ok(mut tree) = Tree::parse(&text) else { return names };
    let its_folder = orbit.parent().unwrap_or(FilePath::new(""));
    each_file(&mut tree, &crate::orbit::schema(), &mut |tree, _| {
        if let Value::String(name) = &tree.value {
            names.push(its_folder.join(name).to_string_lossy().into_owned());
        }
    });
    names
}

/// True if the values of `path`, in the form of an override, can be names of files.
pub fn names_a_file(path: &str) -> bool {
    schema::at(path).into_iter().flat_map(shape::alternatives).any(is_file)
}

fn is_file(schema: &Json) -> bool {
    schema["x-format"] == "path"
}

/// True if the content of such a file names other files: one of `bentpipe orbit`.
fn names_files(options: &[&Json]) -> bool {
    options.iter().any(|option| option["x-content"] == "orbit")
}

/// Writes the content of files of `bentpipe orbit` in the place of their names. They name other
/// files.
fn write_out(tree: &mut Tree, directory: &FilePath, schema: &Json) {
    each_file(tree, schema, &mut |tree, options| {
        let Value::String(name) = &tree.value else { return };
        let file = located(tree, directory, name);
        if let Some(content) = names_files(options).then(|| content(&file)).flatten() {
            tree.value = content;
        }
    });
}

/// The table that a file of `bentpipe orbit` is, with absolute names of files.
fn content(file: &FilePath) -> Option<Value> {
    let file = absolute(file).ok()?;
    let mut tree = Tree::parse(&std::fs::read_to_string(&file).ok()?).ok()?;
    let mut name = |file: &FilePath| file.to_string_lossy().into_owned();
    rename_files(&mut tree, file.parent()?, &crate::orbit::schema(), &mut name);
    Some(tree.value)
}

/// Gives every file that the scenario names the name that `rename` makes of its place. Texts that
/// name files have the `x-format` `path` in the schema.
fn rename_files(
    tree: &mut Tree,
    directory: &FilePath,
    schema: &Json,
    rename: &mut impl FnMut(&FilePath) -> String,
) {
    each_file(tree, schema, &mut |tree, _| rename_file(tree, directory, rename));
}

/// Calls `act` for each text that names a file, with the alternatives of its schema.
fn each_file(tree: &mut Tree, schema: &Json, act: &mut impl FnMut(&mut Tree, &[&Json])) {
    let options = shape::alternatives(schema);
    match &mut tree.value {
        Value::List(items) => {
            let list = options.iter().find(|option| shape::type_of(option) == "array");
            for (item, list) in items.iter_mut().zip(list.iter().cycle()) {
                each_file(item, &list["items"], act);
            }
        }
        Value::Table(entries) => {
            for one in entries {
                let known = options.iter().find_map(|option| option["properties"].get(&one.key));
                if let Some(schema) = known {
                    each_file(&mut one.tree, schema, act);
                }
            }
        }
        Value::String(_) if options.iter().any(|option| is_file(option)) => act(tree, &options),
        _ => {}
    }
}

fn rename_file(
    tree: &mut Tree,
    directory: &FilePath,
    rename: &mut impl FnMut(&FilePath) -> String,
) {
    if let Value::String(name) = &tree.value {
        tree.value = Value::String(rename(&located(tree, directory, name)));
    }
}
