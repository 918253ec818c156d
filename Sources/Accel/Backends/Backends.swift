import AccelByteIO

/// A registry of backends. It is a value: each app can have its own.
///
///     var backends = Backends.standard
///     backends.register(ReferenceBackend())
public struct Backends: Sendable {
    /// All backends in the order of registration.
    public private(set) var all: [any Backend]

    /// A registry of these backends. Of two with the same name the later one stays.
    public init(_ backends: [any Backend]) {
        all = []
        for backend in backends { register(backend) }
    }

    /// The backends of this module. A new backend is a folder beside this file and a line here.
    public static let standard: Backends = {
        var backends: [any Backend] = [
            CPUBackend(),
            ReferenceBackend(),
        ]
        #if canImport(CoreML)
            backends.append(CoreMLBackend())
        #endif
        return Backends(backends)
    }()

    /// Adds a backend, and removes one of the same name.
    public mutating func register(_ backend: any Backend) {
        all.removeAll { $0.id == backend.id }
        all.append(backend)
    }

    /// The backend of a name; nil if there is none.
    public subscript(id: BackendID) -> (any Backend)? { all.first { $0.id == id } }

    /// The backend of a name.
    /// - Throws: `AccelError` (not found) with the known names.
    public func backend(named name: String) throws(AccelError) -> any Backend {
        if let backend = self[BackendID(rawValue: name)] { return backend }
        let names = all.map(\.id.rawValue)
        throw AccelError(
            .notFound, "there is no such backend; there is: \(names.joined(separator: ", "))",
            at: "backend \"\(name)\"", hint: AccelError.suggestion(for: name, among: names))
    }
}

extension AccelError {
    /// e.g. `did you mean "logits"?`
    package static func suggestion(for name: String, among names: [String]) -> String? {
        nearestName(to: name, among: names).map { "did you mean \"\($0)\"?" }
    }
}
