// swift-format-ignore-file: AlwaysUseLowerCamelCase

package import Accel
import AccelByteIO
import AccelPlatform
public import CAccel
import Synchronization

/// The cancel tokens: one atomic word each, of memory that is never freed. Requesting takes no lock and allocates nothing, so that a
/// signal handler may do it.
final class CancelTokens: @unchecked Sendable {
    // The words are atomic.
    static let all = CancelTokens()
    static let most = 1 << 16
    private enum State: UInt64 {
        case free, live, requested
    }
    /// The number of uses of the word, and its state in the last two bits.
    private let words: UnsafeMutablePointer<Atomic<UInt64>>?
    private struct Indices {
        /// The indices from here on were never used.
        var next = 0
        var free: [(index: Int, use: UInt)] = []
    }
    private let indices = Locked(Indices())
    private let first = UInt.random(in: 0...Handle.uses)

    private init() {
        // Pages of zeros, of which only those that are used take memory.
        words = calloc(Self.most, MemoryLayout<Atomic<UInt64>>.stride)?.assumingMemoryBound(to: Atomic<UInt64>.self)
    }

    /// nil if there are as many tokens as there can be.
    func create() -> OpaquePointer? {
        guard let words else { return nil }
        let place = indices.withLock { indices -> (index: Int, use: UInt)? in
            if let place = indices.free.popLast() { return place }
            guard indices.next < Self.most else { return nil }
            indices.next += 1
            return (indices.next - 1, first)
        }
        guard let place else { return nil }
        let handle = Handle(.cancel, place.index, use: place.use)
        words[place.index].store(word(handle, .live), ordering: .releasing)
        return handle.pointer
    }

    /// Requests a token; true also if it was requested before. Without locks and memory.
    /// - Returns: false if there is no such token.
    func request(_ pointer: OpaquePointer?) -> Bool {
        guard let handle = handle(pointer) else { return false }
        return exchange(handle, .live, by: .requested) || has(handle, .requested)
    }

    /// - Returns: false if there is no such token.
    func release(_ pointer: OpaquePointer?) -> Bool {
        guard let handle = handle(pointer),
            exchange(handle, .live, by: .free) || exchange(handle, .requested, by: .free)
        else { return false }
        indices.withLock { $0.free.append((handle.index, (handle.use &+ 1) & Handle.uses)) }
        return true
    }

    /// Returns a function that reports whether a token was requested; nil for NULL.
    /// - Throws: `AccelError` (invalid) if there is no such token.
    func poll(_ pointer: OpaquePointer?) throws(AccelError) -> (@Sendable () -> Bool)? {
        guard let pointer else { return nil }
        guard let handle = handle(pointer), has(handle, .live) || has(handle, .requested) else {
            throw AccelError(
                .invalid, expected: "an accel_cancel", found: "a pointer that is none", at: "a handle",
                hint: "it was released, or another library made it")
        }
        return { [self] in has(handle, .requested) }
    }

    private func handle(_ pointer: OpaquePointer?) -> Handle? {
        guard let pointer, let handle = Handle(pointer), handle.kind == .cancel, handle.index < Self.most else {
            return nil
        }
        return handle
    }

    private func word(_ handle: Handle, _ state: State) -> UInt64 { UInt64(handle.use) << 2 | state.rawValue }

    private func has(_ handle: Handle, _ state: State) -> Bool {
        words.map { $0[handle.index].load(ordering: .acquiring) == word(handle, state) } ?? false
    }

    private func exchange(_ handle: Handle, _ old: State, by new: State) -> Bool {
        guard let words else { return false }
        return words[handle.index].compareExchange(
            expected: word(handle, old), desired: word(handle, new), ordering: .acquiringAndReleasing
        ).exchanged
    }
}

/// Returns a function that reports whether a token was requested; nil for NULL.
/// - Throws: `AccelError` (invalid) if there is no such token.
package func cancelPoll(_ pointer: OpaquePointer?) throws(AccelError) -> (@Sendable () -> Bool)? {
    try CancelTokens.all.poll(pointer)
}

@c @implementation public func accel_cancel_create() -> OpaquePointer? { CancelTokens.all.create() }

@c @implementation public func accel_cancel_request(_ cancel: OpaquePointer?) -> accel_status {
    CancelTokens.all.request(cancel) ? AccelError.none : AccelError.Code.invalid.rawValue
}

@c @implementation public func accel_cancel_release(_ cancel: OpaquePointer?) -> accel_status {
    cancel == nil || CancelTokens.all.release(cancel) ? AccelError.none : AccelError.Code.invalid.rawValue
}
