//! The control socket: a program connects and receives the state of all connections as JSON.

use std::fs::{self, Permissions};
use std::io::{self, Write};
use std::os::unix::fs::{FileTypeExt, PermissionsExt};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::Path;
use std::sync::mpsc::channel;
use std::time::Duration;

use serde_json::Value;

use crate::daemon::{DaemonError, Doing, Orders};
use crate::local::Server;
use crate::worker::Order;

/// A thread answers within this time, or its connections are missing.
const PATIENCE: Duration = Duration::from_secs(2);

/// Opens the socket, readable by its owner only.
pub(crate) fn bind(path: &Path) -> Result<UnixListener, DaemonError> {
    let action = format!("open the control socket {}", path.display());
    // One that a killed daemon left: nobody answers there.
    let is_socket = fs::symlink_metadata(path).is_ok_and(|file| file.file_type().is_socket());
    if is_socket && UnixStream::connect(path).is_err() {
        fs::remove_file(path).doing(&*action)?;
    }
    if let Some(folder) = path.parent() {
        fs::create_dir_all(folder).doing(&*action)?;
    }
    let listener = UnixListener::bind(path).doing(&*action)?;
    fs::set_permissions(path, Permissions::from_mode(0o600)).doing(action)?;
    Ok(listener)
}

/// Starts the thread that answers.
pub(crate) fn serve(listener: UnixListener, orders: Orders) -> io::Result<Server> {
    Server::start("control", listener, move |mut stream| {
        let (reply, answers) = channel();
        orders.send(|| Order::List(reply.clone()));
        drop(reply);
        let mut all: Vec<Value> = Vec::new();
        while let Ok(part) = answers.recv_timeout(PATIENCE) {
            all.extend(part);
        }
        let _ = stream.set_write_timeout(Some(PATIENCE));
        let _ = stream.write_all(Value::Array(all).to_string().as_bytes()); // gone again
    })
}

/// The state of all connections of a daemon.
///
/// # Errors
/// No daemon answers, or its answer is not complete.
pub fn list(path: &Path) -> io::Result<Vec<Value>> {
    let mut stream = UnixStream::connect(path)?;
    stream.set_read_timeout(Some(2 * PATIENCE))?;
    let text = io::read_to_string(&mut stream)?;
    Ok(serde_json::from_str(&text)?)
}
