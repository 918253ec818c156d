// swift-format-ignore-file: AlwaysUseLowerCamelCase

import Accel
import AccelByteIO
public import CAccel

/// The backends that models may be opened on: those of the library, and those that the program has added.
final class RegisteredBackends: Sendable {
    static let all = RegisteredBackends()
    private let backends = Locked(Backends.standard)

    var registry: Backends { backends.withLock { $0 } }
    func add(_ backend: any Backend) { backends.withLock { $0.register(backend) } }
}

@c @implementation public func accel_backend_register(
    _ plugin: UnsafeRawPointer?, _ error: UnsafeMutablePointer<accel_error>?
) -> accel_status {
    attempt(error) { () throws(AccelError) in
        RegisteredBackends.all.add(try PluginBackend(table: try required(plugin, "plugin")))
    }
}

@c @implementation public func accel_backend_load(
    _ path: UnsafePointer<CChar>?, _ error: UnsafeMutablePointer<accel_error>?
) -> accel_status {
    attempt(error) { () throws(AccelError) in
        RegisteredBackends.all.add(try PluginBackend(at: try string(path, "path"), trust: .path))
    }
}
