//! Totals of a recording as objects. Their attributes are the fields of the engine's records.

use std::borrow::Cow;

use pyo3::prelude::*;
use recording::{
    FlowRecord, KernelRecord, LinkRecord, ObjectRecord, PageRecord, ProtocolRecord, RateRecord,
    SettingRecord,
};

use crate::record::{Native, Stub, class};

/// Declares the class of a flow, with an attribute for each transport protocol, and the classes of
/// these attributes.
macro_rules! flow_and_transports {
    ($($(#[doc = $doc:tt])* $method:ident $record:ident $macro:ident $class:ident;)+) => {
        use recording::{$($record),+};

        recording::flow_record!(class {
            Flow;
            $($(#[doc = $doc])*
            $method: Option<$class> = |flow| flow.protocol.$method().map($class::from),)+
        });
        $(recording::$macro!(class { $class; });)+

        /// Adds the classes of transport protocols to the module.
        pub fn add_transports(module: &Bound<'_, PyModule>) -> PyResult<()> {
            $(module.add_class::<$class>()?;)+
            Ok(())
        }

        /// Stubs of the classes of transport protocols.
        pub fn transport_stubs() -> Vec<Stub> {
            vec![$($class::stub(),)+]
        }
    };
}

recording::each_transport_record!(flow_and_transports);
recording::page_record!(class { Page; });
recording::object_record!(class { PageObject; });
recording::link_record!(class { Link; });
recording::kernel_record!(class { KernelQuality; });
recording::rate_record!(class { LinkRate; });
recording::setting_record!(class { KernelSetting; });

impl Native for ProtocolRecord {
    type Attribute = &'static str;

    fn attribute(&self) -> &'static str {
        self.name()
    }
}
