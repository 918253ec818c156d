// swift-format-ignore-file: AlwaysUseLowerCamelCase

import Accel
import AccelByteIO
import AccelCPURuntime
public import CAccel

/// The object behind a store handle.
final class StoreObject: HandledObject {
    static let kind = Handle.Kind.store
    let store: ModelStore

    init(_ store: ModelStore) { self.store = store }

    /// Waits for work on a model of the store of a handle.
    static func wait<Success: Sendable>(
        _ handle: OpaquePointer?, _ name: UnsafePointer<CChar>?, until isCancelled: (@Sendable () -> Bool)? = nil,
        _ body: @escaping @Sendable (ModelStore, _ name: String) async throws(AccelError) -> Success
    ) throws(AccelError) -> Success {
        let store = try HandleTable.all.object(handle, as: StoreObject.self).store
        let name = try string(name, "name")
        return try WaitingThread.wait(until: isCancelled) { () async throws(AccelError) in try await body(store, name) }
    }
}

extension ModelStore {
    /// Updates a model from a package on this machine, and reports what is done, both in the thread of the task.
    fileprivate nonisolated func updated(
        _ name: String, from package: String, allowsRollback: Bool,
        _ progress: @escaping @Sendable (UpdateEvent) -> Void
    ) async throws(AccelError) {
        let (events, emitter) = AsyncStream.makeStream(of: UpdateEvent.self)
        do {
            try await withThrowingTaskGroup(of: Void.self) { group in
                group.addTask {
                    defer { emitter.finish() }
                    _ = try await self.updating(
                        name, from: LocalPackage(package), allowsRollback: allowsRollback
                    ) { emitter.yield($0) }
                }
                for await event in events { progress(event) }
                try await group.waitForAll()
            }
        } catch { throw AccelError(error, at: "model \"\(name)\"") }
    }
}

extension DeviceProfile {
    /// The profile of a name of the caller's; that of this device for NULL.
    fileprivate init(named name: UnsafePointer<CChar>?, _ place: String) throws(AccelError) {
        guard name != nil else {
            self = .current
            return
        }
        let name = try string(name, place)
        guard let found = DeviceProfile.named(name) else {
            let names = DeviceProfile.all.map(\.name)
            throw AccelError(
                .notFound, expected: names.joined(separator: ", "), found: name, at: place,
                hint: AccelError.suggestion(for: name, among: names))
        }
        self = found
    }
}

@c @implementation public func accel_store_open(
    _ path: UnsafePointer<CChar>?, _ options: UnsafePointer<accel_store_options>?,
    _ store: UnsafeMutablePointer<OpaquePointer?>?, _ error: UnsafeMutablePointer<accel_error>?
) -> accel_status {
    attempt(error) { () throws(AccelError) in
        try HandleTable.all.give(to: store, "store") { () throws(AccelError) in
            let path = try string(path, "path")
            let options = try optional(options, "accel_store_options") ?? accel_store_options()
            guard options.flags == 0 else {
                throw AccelError(
                    .unsupported, expected: "0", found: "\(options.flags)", at: "accel_store_options.flags")
            }
            var configuration = Configuration.automatic
            configuration.registry = RegisteredBackends.all.registry
            return StoreObject(
                try ModelStore(
                    at: path, trust: Trust(options.verify, options.context),
                    profile: try DeviceProfile(named: options.profile, "accel_store_options.profile"),
                    limit: options.byte_limit == 0 ? nil : Int(clamping: options.byte_limit),
                    configuration: configuration))
        }
    }
}

@c @implementation public func accel_store_release(_ store: OpaquePointer?) -> accel_status {
    HandleTable.all.release(store, as: StoreObject.self)
}

@c @implementation public func accel_store_list(
    _ store: OpaquePointer?, _ each: accel_each_stored?, _ context: UnsafeMutableRawPointer?,
    _ error: UnsafeMutablePointer<accel_error>?
) -> accel_status {
    attempt(error) { () throws(AccelError) in
        let each = try required(each, "each")
        let store = try HandleTable.all.object(store, as: StoreObject.self).store
        let models = try WaitingThread.wait { () async throws(AccelError) in try await store.list() }
        for model in models {
            let memory = LentMemory()
            var stored = accel_stored()
            stored.struct_size = UInt32(MemoryLayout<accel_stored>.size)
            stored.is_tentative = model.isTentative ? 1 : 0
            stored.name = memory.string(model.name)
            stored.version = memory.string(model.version.description)
            stored.path = memory.string(model.path)
            stored.byte_count = UInt64(clamping: model.byteCount)
            stored.earlier_count = model.earlier.count
            withExtendedLifetime(memory) { each(context, &stored) }
        }
    }
}

@c @implementation public func accel_store_model(
    _ store: OpaquePointer?, _ name: UnsafePointer<CChar>?, _ options: UnsafePointer<accel_options>?,
    _ model: UnsafeMutablePointer<OpaquePointer?>?, _ error: UnsafeMutablePointer<accel_error>?
) -> accel_status {
    attempt(error) { () throws(AccelError) in
        try HandleTable.all.give(to: model, "model") { () throws(AccelError) in
            let store = try HandleTable.all.object(store, as: StoreObject.self).store
            return try ModelObject(opening: .stored(try string(name, "name"), in: store), options)
        }
    }
}

@c @implementation public func accel_store_update(
    _ store: OpaquePointer?, _ name: UnsafePointer<CChar>?, _ package: UnsafePointer<CChar>?,
    _ options: UnsafePointer<accel_options>?, _ error: UnsafeMutablePointer<accel_error>?
) -> accel_status {
    attempt(error) { () throws(AccelError) in
        let package = try string(package, "package")
        let options = try optional(options, "accel_options")
        let progress = options?.progress.map { Callback(function: $0, context: options?.context) }
        let (flags, rollback) = (options?.flags ?? 0, UInt32(ACCEL_UPDATE_ROLLBACK))
        guard flags & ~rollback == 0 else {
            throw AccelError(
                .unsupported, expected: "ACCEL_UPDATE_ROLLBACK or 0", found: "\(flags)", at: "accel_options.flags")
        }
        try StoreObject.wait(store, name, until: try cancelPoll(options?.cancel)) { store, name throws(AccelError) in
            try await store.updated(name, from: package, allowsRollback: flags & rollback != 0) { event in
                let fraction = event.total.map { Double(event.done) / Double(max($0, 1)) } ?? -1
                progress?.function(progress?.context, event.kind.rawValue, fraction, event.text)
            }
        }
    }
}

@c @implementation public func accel_store_roll_back(
    _ store: OpaquePointer?, _ name: UnsafePointer<CChar>?, _ error: UnsafeMutablePointer<accel_error>?
) -> accel_status {
    attempt(error) { () throws(AccelError) in
        _ = try StoreObject.wait(store, name) { store, name throws(AccelError) in try await store.rollBack(name) }
    }
}

@c @implementation public func accel_store_remove(
    _ store: OpaquePointer?, _ name: UnsafePointer<CChar>?, _ error: UnsafeMutablePointer<accel_error>?
) -> accel_status {
    attempt(error) { () throws(AccelError) in
        try StoreObject.wait(store, name) { store, name throws(AccelError) in try await store.remove(name) }
    }
}
