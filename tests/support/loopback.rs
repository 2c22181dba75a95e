//! A server on loopback, on a thread of its own.

use axum::Router;
use std::net::SocketAddr;
use std::sync::mpsc;

/// The server. Dropping it ends it.
pub struct Loopback {
    pub address: SocketAddr,
    stop: Option<tokio::sync::oneshot::Sender<()>>,
    thread: Option<std::thread::JoinHandle<()>>,
}

impl Loopback {
    pub fn start(router: Router) -> Self {
        let (stop, stopped) = tokio::sync::oneshot::channel();
        let (ready, address) = mpsc::channel();
        let thread = std::thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
            runtime.block_on(async {
                let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
                ready.send(listener.local_addr().unwrap()).unwrap();
                tokio::select! {
                    served = axum::serve(listener, router) => served.unwrap(),
                    _ = stopped => {}
                }
            });
        });
        Self { address: address.recv().unwrap(), stop: Some(stop), thread: Some(thread) }
    }

    /// Ends it; a test that has not failed yet fails where the server did.
    pub fn end(&mut self) {
        drop(self.stop.take());
        if let Some(thread) = self.thread.take() {
            let joined = thread.join();
            if !std::thread::panicking() {
                joined.expect("the server did not fail");
            }
        }
    }
}

impl Drop for Loopback {
    fn drop(&mut self) {
        self.end();
    }
}
