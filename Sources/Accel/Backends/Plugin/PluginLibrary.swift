import AccelByteIO
import CAccelPlugin

/// The check that a plug-in has to pass before it is loaded: code of a library runs as part of the process, and nothing limits it.
public enum PluginTrust: Sendable {
    /// The caller vouches for the file.
    case path
    /// A verifier accepts the signature of the library's bytes. The folder has to be one that others cannot write: the system
    /// opens the file again after the check.
    case signed(any SignatureVerifier)
}

/// A loaded plug-in: the functions of its table, all of which there are. It is never unloaded.
struct PluginLibrary: Sendable {
    typealias Status = Int32
    typealias Error = UnsafeMutablePointer<accel_plugin_error>?

    let path: String
    let id: BackendID
    let version: String
    let exportFormat: String?
    let priority: BackendPriority
    let canRun: @convention(c) (UnsafePointer<accel_plugin_request>?, Error) -> Status
    let open:
        @convention(c) (UnsafePointer<accel_plugin_request>?, UnsafeMutablePointer<UnsafeMutableRawPointer?>?, Error)
            -> Status
    let close: @convention(c) (UnsafeMutableRawPointer?) -> Void
    let makeSession:
        @convention(c) (UnsafeMutableRawPointer?, UnsafeMutablePointer<UnsafeMutableRawPointer?>?, Error) -> Status
    let freeSession: @convention(c) (UnsafeMutableRawPointer?) -> Void
    let run: @convention(c) (UnsafeMutableRawPointer?, UnsafeMutablePointer<accel_plugin_run>?, Error) -> Status
    let reset: @convention(c) (UnsafeMutableRawPointer?) -> Void
    let stateSize: @convention(c) (UnsafeMutableRawPointer?) -> Int
    let saveState: @convention(c) (UnsafeMutableRawPointer?, UnsafeMutableRawPointer?, Int, Error) -> Status
    let loadState: @convention(c) (UnsafeMutableRawPointer?, UnsafeRawPointer?, Int, Error) -> Status

    /// Loads a library and checks its table.
    /// - Throws: `AccelError`: (not found), (untrusted), or (unsupported) for a file that is no plug-in of this version.
    init(_ path: String, trust: PluginTrust) throws(AccelError) {
        guard Files.kind(of: path) == .file else {
            throw AccelError(
                .notFound, "there is no such file", at: path, hint: "build the plug-in, or correct the path")
        }
        if case .signed(let verifier) = trust {
            do { try verifier.verify(plugin: try MappedFile(path).bytes, at: path) } catch {
                throw AccelError(
                    .untrusted, "\(error)", at: path,
                    hint: "sign it with `ssh-keygen -Y sign -n accelc-plugin@v1 -f KEY \(path)`")
            }
        }
        // Without a slash the system would look for the name elsewhere.
        let file = path.contains("/") ? path : "./\(path)"
        var reason = [CChar](repeating: 0, count: 1024)
        guard let table = cap_load(file, &reason, reason.count) else {
            throw AccelError(.unsupported, Self.text(of: reason), at: path)
        }
        try self.init(table, path: path)
    }

    /// Checks a table.
    init(_ table: UnsafePointer<accel_plugin>, path: String) throws(AccelError) {
        func rejected(_ problem: String, expected: String, found: String) -> AccelError {
            AccelError(
                .unsupported, problem, at: path, expected: expected, found: found,
                hint: "build the plug-in with this version's accel_plugin.h")
        }
        // The first two fields never move.
        let (size, abi) = UnsafeRawPointer(table).withMemoryRebound(to: UInt32.self, capacity: 2) { ($0[0], $0[1]) }
        guard abi == ACCEL_PLUGIN_ABI else {
            throw rejected(
                "is a plug-in of version \(abi) of the interface; expected version \(ACCEL_PLUGIN_ABI)",
                expected: "version \(ACCEL_PLUGIN_ABI)", found: "version \(abi)")
        }
        guard Int(size) >= MemoryLayout<accel_plugin>.size else {
            let least = MemoryLayout<accel_plugin>.size
            throw rejected(
                "its table has \(size) bytes; expected at least \(least)", expected: "\(least) bytes", found: "\(size)")
        }
        let given = table.pointee
        func required<Value>(_ value: Value?, _ name: String) throws(AccelError) -> Value {
            if let value { return value }
            throw AccelError(
                .unsupported, "its table has no \(name)", at: path, hint: "every field but export_format has to be set")
        }
        let name = String(cString: try required(given.name, "name"))
        let isName = name.utf8.allSatisfy {
            (97...122).contains($0) || (48...57).contains($0) || $0 == 45 || $0 == 46
        }
        guard !name.isEmpty, name.utf8.count <= 64, isName else {
            throw AccelError(
                .unsupported, "its name is \"\(name.prefix(80))\"", at: path,
                hint: "a name has up to 64 lower-case letters, digits, \"-\" and \".\"")
        }
        self.path = path
        id = BackendID(rawValue: name)
        version = String(cString: try required(given.version, "version"))
        exportFormat = given.export_format.map { String(cString: $0) }
        priority = given.priority == .min ? .onRequest : BackendPriority(rawValue: Int(given.priority))
        canRun = try required(given.can_run, "can_run")
        open = try required(given.open, "open")
        close = try required(given.close, "close")
        makeSession = try required(given.make_session, "make_session")
        freeSession = try required(given.free_session, "free_session")
        run = try required(given.run, "run")
        reset = try required(given.reset, "reset")
        stateSize = try required(given.state_size, "state_size")
        saveState = try required(given.save_state, "save_state")
        loadState = try required(given.load_state, "load_state")
    }

    /// Calls a function of the plug-in.
    /// - Returns: the message that the plug-in wrote beside ACCEL_PLUGIN_OK; empty without one.
    /// - Throws: `AccelError` with the plug-in's code and message.
    @discardableResult
    func call(
        _ name: String, at location: String, _ body: (UnsafeMutablePointer<accel_plugin_error>) -> Status
    ) throws(AccelError) -> String {
        var error = accel_plugin_error()
        error.struct_size = UInt32(MemoryLayout<accel_plugin_error>.size)
        let status = body(&error)
        let message = withUnsafeBytes(of: &error.message) { Self.text(of: $0.bindMemory(to: CChar.self)) }
        if status == Int32(ACCEL_PLUGIN_OK) { return message }
        let problem = message.isEmpty ? "\(name) failed without a message, status \(status)" : message
        let known = [
            ACCEL_PLUGIN_INVALID, ACCEL_PLUGIN_NOT_FOUND, ACCEL_PLUGIN_CORRUPT, ACCEL_PLUGIN_CANCELLED,
            ACCEL_PLUGIN_UNSUPPORTED, ACCEL_PLUGIN_MEMORY,
        ]
        let code = known.contains { Int32($0) == status } ? AccelError.Code(rawValue: status) : .backend
        throw AccelError(code, problem, at: "plug-in \(id), \(location)")
    }

    /// The text before the first zero, or the whole buffer if a plug-in has written no zero. What is no UTF-8 is replaced.
    static func text(of buffer: some Sequence<CChar>) -> String {
        String(decoding: buffer.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
    }
}
