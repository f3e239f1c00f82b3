//! Results as objects of Python with typed attributes: one macro makes the class, its dictionary
//! for JSON and its text, so that a field is written once.

use pyo3::conversion::IntoPyObject;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList};

/// A value in the dictionary of a record.
pub trait Item {
    /// The value as JSON has it: records are dictionaries.
    fn item<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>>;
}

macro_rules! plain {
    ($($type:ty),+) => {
        $(impl Item for $type {
            fn item<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
                Ok(self.clone().into_pyobject(py)?.to_owned().into_any())
            }
        })+
    };
}

plain!(bool, u32, u64, f64, String);

impl Item for &'static str {
    fn item<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        Ok((*self).into_pyobject(py)?.into_any())
    }
}

impl<T: Item> Item for Option<T> {
    fn item<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        self.as_ref().map_or_else(|| Ok(py.None().into_bound(py)), |value| value.item(py))
    }
}

impl<T: Item> Item for Vec<T> {
    fn item<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let items: Vec<_> = self.iter().map(|value| value.item(py)).collect::<PyResult<_>>()?;
        Ok(PyList::new(py, items)?.into_any())
    }
}

/// Declares a class of Python whose attributes are the fields of a struct.
macro_rules! record {
    ($(#[$doc:meta])* $name:ident { $($(#[$about:meta])* $field:ident: $type:ty),+ $(,)? }) => {
        $(#[$doc])*
        #[pyclass(frozen, eq, get_all, module = "bentpipe")]
        #[derive(Clone, Debug, PartialEq)]
        pub struct $name { $($(#[$about])* pub $field: $type,)+ }

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
        }
    };
}

pub(crate) use record;

/// `Name(field=value, ...)`.
pub fn text(name: &str, dict: &Bound<'_, PyDict>) -> PyResult<String> {
    let field =
        |(key, value): (Bound<'_, PyAny>, Bound<'_, PyAny>)| Ok(format!("{key}={}", value.repr()?));
    let fields: Vec<String> = dict.iter().map(field).collect::<PyResult<_>>()?;
    Ok(format!("{name}({})", fields.join(", ")))
}
