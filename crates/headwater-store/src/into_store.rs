use std::sync::Arc;

use crate::Store;

/// A store, or a shared one.
///
/// ```
/// use std::sync::Arc;
/// use headwater_store::{IntoStore, Memory, Store};
///
/// fn keep(store: impl IntoStore) -> Arc<dyn Store> {
///     store.into_store()
/// }
///
/// keep(Memory::new());
/// let shared: Arc<dyn Store> = Arc::new(Memory::new());
/// keep(shared.clone());
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a store",
    label = "not a store",
    note = "use `Memory::new()`, `Embedded::open(\"folder\")?`, another type with `Store`, or an `Arc` of one"
)]
pub trait IntoStore {
    /// The store, ready to be shared.
    fn into_store(self) -> Arc<dyn Store>;
}

impl<S: Store> IntoStore for S {
    fn into_store(self) -> Arc<dyn Store> {
        Arc::new(self)
    }
}

impl<S: Store> IntoStore for Arc<S> {
    fn into_store(self) -> Arc<dyn Store> {
        self
    }
}

impl IntoStore for Arc<dyn Store> {
    fn into_store(self) -> Arc<dyn Store> {
        self
    }
}
