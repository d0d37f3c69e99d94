//! The clock, timers and randomness of the system: tokio natively, the browser on wasm32.

use std::{future::Future, pin::Pin, time::Duration};

/// A boxed future. It is `Send` except on wasm32, where browser types are not.
#[cfg(not(target_arch = "wasm32"))]
pub type BoxFuture<T> = Pin<Box<dyn Future<Output = T> + Send>>;
/// A boxed future. It is `Send` except on wasm32, where browser types are not.
#[cfg(target_arch = "wasm32")]
pub type BoxFuture<T> = Pin<Box<dyn Future<Output = T>>>;

/// `Send`, except on wasm32, where it requires nothing.
#[cfg(not(target_arch = "wasm32"))]
pub trait MaybeSend: Send {}
#[cfg(not(target_arch = "wasm32"))]
impl<T: Send> MaybeSend for T {}

/// `Send`, except on wasm32, where it requires nothing.
#[cfg(target_arch = "wasm32")]
pub trait MaybeSend {}
#[cfg(target_arch = "wasm32")]
impl<T> MaybeSend for T {}

pub(crate) use system::{now, random, sleep};

#[cfg(not(target_arch = "wasm32"))]
mod system {
    use super::{BoxFuture, Duration};

    /// A point in time, as the time since some other one.
    pub(crate) fn now() -> Duration {
        use std::sync::LazyLock;
        // tokio's clock, so that tests can pause it.
        static START: LazyLock<tokio::time::Instant> = LazyLock::new(tokio::time::Instant::now);
        START.elapsed()
    }

    pub(crate) fn sleep(duration: Duration) -> BoxFuture<()> {
        Box::pin(tokio::time::sleep(duration))
    }

    /// A random number. Without a source of randomness it is the clock's.
    pub(crate) fn random() -> u64 {
        getrandom::u64().unwrap_or_else(|_| u64::try_from(now().as_nanos()).unwrap_or_default())
    }
}

#[cfg(target_arch = "wasm32")]
mod system {
    use super::{BoxFuture, Duration};

    use wasm_bindgen::{JsCast as _, JsValue};

    /// A point in time, as the time since some other one.
    pub(crate) fn now() -> Duration {
        Duration::from_secs_f64(js_sys::Date::now() / 1000.0)
    }

    pub(crate) fn sleep(duration: Duration) -> BoxFuture<()> {
        Box::pin(async move {
            let milliseconds = i32::try_from(duration.as_millis()).unwrap_or(i32::MAX);
            let mut start = |resolve: js_sys::Function, _: js_sys::Function| {
                // A window and a worker both have it.
                let set_timeout = js_sys::Reflect::get(&js_sys::global(), &JsValue::from_str("setTimeout"));
                if let Ok(set_timeout) = set_timeout.and_then(JsCast::dyn_into::<js_sys::Function>) {
                    let _ = set_timeout.call2(&JsValue::UNDEFINED, &resolve, &milliseconds.into());
                }
            };
            let _ = wasm_bindgen_futures::JsFuture::from(js_sys::Promise::new(&mut start)).await;
        })
    }

    /// A random number.
    pub(crate) fn random() -> u64 {
        (js_sys::Math::random() * 9_007_199_254_740_992.0) as u64
    }
}
