//! Results as objects of Python with typed attributes. One macro makes the class, its dictionary
//! for JSON, its text and its stub. The classes of a recording follow from its records ([`class`]).

use std::borrow::Cow;

use pyo3::conversion::IntoPyObject;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList};

/// A value in the dictionary of a record.
pub trait Item {
    /// The value as JSON has it: records are dictionaries.
    fn item<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>>;

    /// The type in stubs.
    fn python() -> String;
}

macro_rules! plain {
    ($($type:ty as $python:literal),+ $(,)?) => {
        $(impl Item for $type {
            fn item<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
                Ok(self.clone().into_pyobject(py)?.to_owned().into_any())
            }

            fn python() -> String {
                $python.into()
            }
        })+
    };
}

plain!(
    bool as "bool",
    u32 as "int",
    u64 as "int",
    f64 as "float",
    String as "str",
    (f64, f64) as "tuple[float, float]",
    (f64, i64, i64) as "tuple[float, int, int]",
);

impl Item for &'static str {
    fn item<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        Ok((*self).into_pyobject(py)?.into_any())
    }

    fn python() -> String {
        "str".into()
    }
}

impl<T: Item> Item for Option<T> {
    fn item<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        self.as_ref().map_or_else(|| Ok(py.None().into_bound(py)), |value| value.item(py))
    }

    fn python() -> String {
        format!("{} | None", T::python())
    }
}

impl<T: Item> Item for Vec<T> {
    fn item<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let items: Vec<_> = self.iter().map(|value| value.item(py)).collect::<PyResult<_>>()?;
        Ok(PyList::new(py, items)?.into_any())
    }

    fn python() -> String {
        format!("list[{}]", T::python())
    }
}

/// A type of the fields of records, and what it is in Python.
pub trait Native {
    /// The type of the attribute.
    type Attribute;

    /// The value of the attribute.
    fn attribute(&self) -> Self::Attribute;
}

macro_rules! native {
    ($($type:ty as $attribute:ty),+ $(,)?) => {
        $(impl Native for $type {
            type Attribute = $attribute;

            fn attribute(&self) -> $attribute {
                (*self).to_owned().into()
            }
        })+
    };
}

native!(bool as bool, u64 as u64, f64 as f64, String as String, Cow<'static, str> as String);

impl<T: Native> Native for Option<T> {
    type Attribute = Option<T::Attribute>;

    fn attribute(&self) -> Self::Attribute {
        self.as_ref().map(Native::attribute)
    }
}

impl<T: Native> Native for Vec<T> {
    type Attribute = Vec<T::Attribute>;

    fn attribute(&self) -> Self::Attribute {
        self.iter().map(Native::attribute).collect()
    }
}

/// The stub of a class: its name, its docstring, and the name, type and docstring of each
/// attribute.
pub type Stub = (&'static str, &'static str, Vec<(&'static str, String, &'static str)>);

/// Declares a class of Python whose attributes are the fields of a struct.
macro_rules! record {
    ($(#[doc = $doc:tt])* $name:ident {
        $($(#[doc = $about:tt])* $field:ident: $type:ty),+ $(,)?
    }) => {
        $(#[doc = $doc])*
        #[pyclass(frozen, eq, get_all, module = "bentpipe")]
        #[derive(Clone, Debug, PartialEq)]
        pub struct $name { $($(#[doc = $about])* pub $field: $type,)+ }

        impl $name {
            /// Its stub.
            pub fn stub() -> $crate::record::Stub {
                let attributes = vec![$((
                    stringify!($field),
                    <$type as $crate::record::Item>::python(),
                    concat!($($about, "\n"),*),
                ),)+];
                (stringify!($name), concat!($($doc, "\n"),*), attributes)
            }
        }

        #[pymethods]
        impl $name {
            /// The attributes as a dictionary, with dictionaries for the objects in them.
            fn to_dict<'py>(
                &self,
                py: pyo3::Python<'py>,
            ) -> pyo3::PyResult<pyo3::Bound<'py, pyo3::types::PyDict>> {
                let dict = pyo3::types::PyDict::new(py);
                $(dict.set_item(stringify!($field), $crate::record::Item::item(&self.$field, py)?)?;)+
                Ok(dict)
            }

            fn __repr__(&self, py: pyo3::Python<'_>) -> pyo3::PyResult<String> {
                let dict = self.to_dict(py)?;
                $crate::record::text(stringify!($name), &dict)
            }
        }

        impl $crate::record::Item for $name {
            fn item<'py>(
                &self,
                py: pyo3::Python<'py>,
            ) -> pyo3::PyResult<pyo3::Bound<'py, pyo3::PyAny>> {
                Ok(self.to_dict(py)?.into_any())
            }

            fn python() -> String {
                stringify!($name).into()
            }
        }
    };
}

/// Declares the class of a record of a recording:
/// `recording::flow_record!(class { Flow of FlowRecord; })`, with further attributes as
/// `name: Type = |record| value`.
macro_rules! class {
    ({ $name:ident; $($(#[doc = $more_about:tt])* $more:ident: $more_type:ty = $value:expr),* $(,)? }
     $(#[doc = $doc:tt])* $record:ident { $($(#[doc = $about:tt])* $field:ident: $type:ty,)+ }) => {
        $crate::record::record! {
            $(#[doc = $doc])*
            $name {
                $($(#[doc = $about])* $field: <$type as $crate::record::Native>::Attribute,)+
                $($(#[doc = $more_about])* $more: $more_type,)*
            }
        }

        impl From<&$record> for $name {
            fn from(record: &$record) -> Self {
                $(let $more = $crate::record::call(record, $value);)*
                Self {
                    $($field: $crate::record::Native::attribute(&record.$field),)+
                    $($more,)*
                }
            }
        }

        impl $crate::record::Native for $record {
            type Attribute = $name;

            fn attribute(&self) -> $name {
                self.into()
            }
        }
    };
}

pub(crate) use {class, record};

/// Calls a closure, whose type follows from `record`.
pub fn call<R, T>(record: &R, value: impl FnOnce(&R) -> T) -> T {
    value(record)
}

/// `Name(field=value, ...)`.
pub fn text(name: &str, dict: &Bound<'_, PyDict>) -> PyResult<String> {
    let field =
        |(key, value): (Bound<'_, PyAny>, Bound<'_, PyAny>)| Ok(format!("{key}={}", value.repr()?));
    let fields: Vec<String> = dict.iter().map(field).collect::<PyResult<_>>()?;
    Ok(format!("{name}({})", fields.join(", ")))
}
