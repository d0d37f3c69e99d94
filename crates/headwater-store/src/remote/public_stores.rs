//! The public stores: a struct with a [`Remote`](super::Remote) in it, so that no one meets its type parameter.

/// Makes a public store of a [`Remote`] in its field `0`.
macro_rules! delegate_store {
    ($store:ty) => {
        impl $crate::Store for $store {
            fn append(
                &self,
                lease: &$crate::Lease,
                class: $crate::Class,
                bodies: &[bytes::Bytes],
            ) -> $crate::Result<$crate::Receipt> {
                self.0.append(lease, class, bodies)
            }
            fn room(&self) -> $crate::Pending<'_, ()> {
                self.0.room()
            }
            fn read<'a>(
                &'a self,
                journal: &'a $crate::JournalId,
                after: u64,
                limit: $crate::ReadLimit,
            ) -> $crate::Pending<'a, $crate::Page> {
                self.0.read(journal, after, limit)
            }
            fn wait<'a>(
                &'a self,
                journal: &'a $crate::JournalId,
                after: u64,
            ) -> $crate::Pending<'a, $crate::Tail> {
                self.0.wait(journal, after)
            }
            fn info<'a>(
                &'a self,
                journal: &'a $crate::JournalId,
            ) -> $crate::Pending<'a, Option<$crate::JournalInfo>> {
                self.0.info(journal)
            }
            fn journals<'a>(
                &'a self,
                after: Option<&'a $crate::JournalId>,
                limit: usize,
            ) -> $crate::Pending<'a, Vec<$crate::JournalId>> {
                self.0.journals(after, limit)
            }
            fn restore<'a>(
                &'a self,
                journal: &'a $crate::JournalId,
                info: &'a $crate::JournalInfo,
                records: &'a [$crate::Record],
            ) -> $crate::Pending<'a, ()> {
                self.0.restore(journal, info, records)
            }
            fn close<'a>(
                &'a self,
                lease: &'a $crate::Lease,
                keep: Option<std::time::Duration>,
            ) -> $crate::Pending<'a, ()> {
                self.0.close(lease, keep)
            }
            fn trim<'a>(&'a self, lease: &'a $crate::Lease, before: u64) -> $crate::Pending<'a, ()> {
                self.0.trim(lease, before)
            }
            fn delete<'a>(&'a self, journal: &'a $crate::JournalId) -> $crate::Pending<'a, ()> {
                self.0.delete(journal)
            }
            fn claim<'a>(
                &'a self,
                journal: &'a $crate::JournalId,
                owner: &'a str,
                ttl: std::time::Duration,
            ) -> $crate::Pending<'a, $crate::Lease> {
                self.0.claim(journal, owner, ttl)
            }
            fn renew<'a>(
                &'a self,
                lease: &'a $crate::Lease,
                ttl: std::time::Duration,
            ) -> $crate::Pending<'a, $crate::Lease> {
                self.0.renew(lease, ttl)
            }
            fn release<'a>(&'a self, lease: &'a $crate::Lease) -> $crate::Pending<'a, ()> {
                self.0.release(lease)
            }
            fn expired(&self, limit: usize) -> $crate::Pending<'_, Vec<$crate::JournalId>> {
                self.0.expired(limit)
            }
            fn get<'a>(&'a self, key: &'a str) -> $crate::Pending<'a, Option<$crate::Value>> {
                self.0.get(key)
            }
            fn put<'a>(
                &'a self,
                key: &'a str,
                bytes: bytes::Bytes,
                expect: $crate::Expect,
                ttl: Option<std::time::Duration>,
            ) -> $crate::Pending<'a, u64> {
                self.0.put(key, bytes, expect, ttl)
            }
            fn remove<'a>(&'a self, key: &'a str, expect: $crate::Expect) -> $crate::Pending<'a, bool> {
                self.0.remove(key, expect)
            }
            fn list<'a>(
                &'a self,
                prefix: &'a str,
                after: Option<&'a str>,
                limit: usize,
            ) -> $crate::Pending<'a, Vec<(String, $crate::Value)>> {
                self.0.list(prefix, after, limit)
            }
            fn watch(&self, prefix: &str) -> $crate::Watch {
                self.0.watch(prefix)
            }
            fn sweep(&self) -> $crate::Pending<'_, $crate::SweepReport> {
                self.0.sweep()
            }
            fn flush(&self) -> $crate::Pending<'_, ()> {
                self.0.flush()
            }
            fn stopped(&self) -> std::pin::Pin<Box<dyn Future<Output = $crate::Error> + Send + '_>> {
                self.0.stopped()
            }
            fn limits(&self) -> $crate::Limits {
                self.0.limits()
            }
        }
    };
}
pub(crate) use delegate_store;
