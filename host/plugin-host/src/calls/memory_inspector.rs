//! Shows the memory of an instance at the end of its call, so that a test can prove that a value is not in it.
//!
//! wasmtime gives no access to the core memory of a component. So a host with an inspector allocates linear memories
//! itself and keeps them until the inspector has read them. Component, linker, limits and the path of a call stay the
//! same; only the pool of instances is not used, and the component is compiled for memories that are filled instead of
//! mapped.
//!
//! The inspector sees all bytes that the component could read at its end, freed bytes included: memories only grow.
//! Globals, tables and the stack of the compiled code are not part of it; the stack that tool chains keep in linear
//! memory is.
//!
//! To use it, set [`crate::HostSettings::memory_inspector`] and search for canaries in [`MemoryInspector::call_ended`].
//! A call whose caller drops it is not shown.

use std::fmt;
use std::io;
use std::ptr::{self, NonNull};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use machinist_core::driver::Operation;
use machinist_core::value::id::PluginName;
use rustix::mm::{MapFlags, MprotectFlags, ProtFlags, mmap_anonymous, mprotect, munmap};
use wasmtime::{LinearMemory, MemoryCreator, MemoryType};

/// Is shown the memory of each instance.
pub trait MemoryInspector: Send + Sync {
    /// The call is over, the instance is not yet gone. Blocks the call; must not panic.
    fn call_ended(&self, call: &InspectedCall<'_>);
}

/// The rest of a call.
pub struct InspectedCall<'a> {
    pub plugin: &'a PluginName,
    /// Which function of the contract.
    pub operation: Operation,
    regions: &'a [Arc<Region>],
}

impl InspectedCall<'_> {
    /// All linear memories of the instance, whole.
    pub fn memories(&self) -> impl Iterator<Item = &[u8]> {
        self.regions.iter().map(|region| region.bytes())
    }

    /// True if one of the memories contains these bytes.
    pub fn contains(&self, bytes: &[u8]) -> bool {
        let finder = memchr::memmem::Finder::new(bytes);
        self.memories().any(|memory| finder.find(memory).is_some())
    }
}

impl fmt::Debug for InspectedCall<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let sizes: Vec<usize> = self.memories().map(<[u8]>::len).collect();
        f.debug_struct("WitnessedCall")
            .field("plugin", self.plugin)
            .field("operation", &self.operation)
            .field("memory_bytes", &sizes)
            .finish()
    }
}

tokio::task_local! {
    /// The memories of the running call. A call runs on the stack of the task that polls it, so that the call is known
    /// where wasmtime asks for memory.
    static MADE: Made;
}

type Made = Arc<Mutex<Vec<Arc<Region>>>>;

/// Runs the call, then shows its memories to the inspector.
pub(crate) async fn watched<T>(
    inspector: &dyn MemoryInspector,
    plugin: &PluginName,
    operation: Operation,
    call: impl Future<Output = T>,
) -> T {
    let made = Made::default();
    let answer = MADE.scope(Arc::clone(&made), call).await;
    let regions = made.lock().unwrap_or_else(PoisonError::into_inner);
    inspector.call_ended(&InspectedCall { plugin, operation, regions: &regions });
    answer
}

/// Allocates memories that can be looked at.
pub(crate) struct Memories;

#[expect(unsafe_code, reason = "memory that a test can look at is memory that wasmtime does not allocate")]
// SAFETY: a region is a private anonymous mapping: page aligned, zero filled, reserved as a whole with its guard behind
// it, accessible up to its size only, and never moved. It is unmapped when its last owner is dropped.
unsafe impl MemoryCreator for Memories {
    fn new_memory(
        &self,
        _: MemoryType,
        minimum: usize,
        maximum: Option<usize>,
        reserved_size_in_bytes: Option<usize>,
        guard_size_in_bytes: usize,
    ) -> Result<Box<dyn LinearMemory>, String> {
        let capacity = reserved_size_in_bytes.or(maximum).unwrap_or(minimum).max(minimum);
        let region = Region::new(capacity, guard_size_in_bytes).map_err(|error| error.to_string())?;
        region.grow(minimum).map_err(|error| error.to_string())?;
        let region = Arc::new(region);
        // Outside of a call there is no inspector.
        let _ = MADE.try_with(|made| {
            made.lock().unwrap_or_else(PoisonError::into_inner).push(Arc::clone(&region));
        });
        Ok(Box::new(SharedRegion(region)))
    }
}

/// wasmtime's share in a region.
struct SharedRegion(Arc<Region>);

#[expect(unsafe_code, reason = "see above")]
// SAFETY: see `Memories`.
unsafe impl LinearMemory for SharedRegion {
    fn byte_size(&self) -> usize {
        self.0.size_bytes.load(Ordering::Acquire)
    }

    fn byte_capacity(&self) -> usize {
        self.0.capacity_bytes
    }

    fn grow_to(&mut self, new_size: usize) -> wasmtime::Result<()> {
        Ok(self.0.grow(new_size)?)
    }

    fn as_ptr(&self) -> *mut u8 {
        self.0.start.as_ptr()
    }
}

struct Region {
    start: NonNull<u8>,
    /// Accessible from the start.
    size_bytes: AtomicUsize,
    /// The size up to which it may grow in place.
    capacity_bytes: usize,
    mapped_bytes: usize,
}

#[expect(unsafe_code, reason = "a mapping belongs to no thread")]
// SAFETY: the pointer is the start of a mapping that this value owns. Its bytes are read only while the instance that
// writes them is at rest.
unsafe impl Send for Region {}

#[expect(unsafe_code, reason = "a mapping belongs to no thread")]
// SAFETY: as above; the size is atomic.
unsafe impl Sync for Region {}

#[expect(unsafe_code, reason = "mapping memory")]
impl Region {
    fn new(capacity_bytes: usize, guard_bytes: usize) -> io::Result<Self> {
        let mapped_bytes = capacity_bytes.checked_add(guard_bytes).ok_or(io::ErrorKind::OutOfMemory)?;
        // SAFETY: a mapping at an address of the kernel's choice touches nothing that exists.
        let start = unsafe {
            mmap_anonymous(
                ptr::null_mut(),
                mapped_bytes.max(1),
                ProtFlags::empty(),
                MapFlags::PRIVATE | MapFlags::NORESERVE,
            )
        }?;
        let start = NonNull::new(start.cast()).ok_or(io::ErrorKind::OutOfMemory)?;
        Ok(Self { start, size_bytes: AtomicUsize::new(0), capacity_bytes, mapped_bytes })
    }

    fn grow(&self, size_bytes: usize) -> io::Result<()> {
        if size_bytes > self.capacity_bytes {
            return Err(io::ErrorKind::OutOfMemory.into());
        }
        if size_bytes > 0 {
            // SAFETY: the range lies inside of the own mapping, since it is not above the capacity.
            unsafe {
                mprotect(self.start.as_ptr().cast(), size_bytes, MprotectFlags::READ | MprotectFlags::WRITE)
            }?;
        }
        self.size_bytes.store(size_bytes, Ordering::Release);
        Ok(())
    }

    fn bytes(&self) -> &[u8] {
        // SAFETY: that many bytes are mapped and readable, and nothing writes them: an inspector reads while the call's
        // future, which owns the instance, is not polled.
        unsafe { std::slice::from_raw_parts(self.start.as_ptr(), self.size_bytes.load(Ordering::Acquire)) }
    }
}

#[expect(unsafe_code, reason = "unmapping memory")]
impl Drop for Region {
    fn drop(&mut self) {
        // SAFETY: this value owns the mapping, and it is the last owner.
        let _unmapped = unsafe { munmap(self.start.as_ptr().cast(), self.mapped_bytes.max(1)) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_region_is_zero_grows_in_place_and_ends_at_its_capacity() {
        let region = Region::new(1 << 20, 1 << 16).unwrap();
        region.grow(65_536).unwrap();
        let start = region.bytes().as_ptr();
        region.grow(1 << 20).unwrap();
        assert_eq!((region.bytes().len(), region.bytes().as_ptr()), (1 << 20, start));
        assert!(region.bytes().iter().all(|byte| *byte == 0));
        assert!(region.grow((1 << 20) + 65_536).is_err());
        assert!(Region::new(usize::MAX, 1).is_err());
    }
}
