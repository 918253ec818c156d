import AccelByteIO
import AccelPackages
import AccelPrograms
import CAccelPlugin

/// A backend written in C: a shared library with the interface of `accel_plugin.h`.
///
///     var configuration = Configuration()
///     configuration.registry.register(try PluginBackend(at: "/opt/app/libllama_plugin.so", trust: .signed(verifier)))
///
/// A plug-in runs the package, or an export of it that lies beside the package: `NAME.gguf` for `NAME.accelpkg`.
public struct PluginBackend: Backend {
    private let library: PluginLibrary
    public var id: BackendID { library.id }
    /// The version of the plug-in and its engine, for people.
    public var version: String { library.version }
    /// The format of the export that it runs, e.g. `gguf`; nil if it reads packages.
    public var exportFormat: String? { library.exportFormat }

    /// Loads a plug-in. It stays loaded until the process ends.
    /// - Parameters:
    ///   - path: the path of the shared library.
    ///   - trust: what it has to pass before.
    /// - Throws: `AccelError`: (not found), (untrusted), or (unsupported) with the reason for a file that is no plug-in of this
    ///   version of the interface.
    public init(at path: String, trust: PluginTrust) throws(AccelError) {
        library = try PluginLibrary(path, trust: trust)
    }

    /// A plug-in that is part of the program.
    /// - Parameter table: an `accel_plugin`, which stays as long as the process.
    /// - Throws: `AccelError` (unsupported) for a table of another version of the interface, or one that lacks something.
    package init(table: UnsafeRawPointer) throws(AccelError) {
        library = try PluginLibrary(table.assumingMemoryBound(to: accel_plugin.self), path: "a plug-in of the program")
    }

    public func assess(_ request: BackendRequest) async -> Assessment {
        do throws(AccelError) {
            let given = try cRequest(request, checksFiles: false)
            let message = try library.call("can_run", of: given, at: request.package.path) { library.canRun($0, $1) }
            return .suitable(priority: library.priority, notes: [library.version] + (message.isEmpty ? [] : [message]))
        } catch {
            return .unsuitable(reason: error.description)
        }
    }

    public func load(
        _ request: BackendRequest, progress: @escaping @Sendable (LoadingEvent) -> Void
    ) async throws(AccelError) -> any LoadedModel {
        progress(.preparing(0))
        let given = try cRequest(request, checksFiles: true)
        var model: UnsafeMutableRawPointer?
        // What it cannot run has the same error from `open` as from `can_run`, whatever the plug-in does in `open`.
        try library.call("can_run", of: given, at: request.package.path) { library.canRun($0, $1) }
        try library.call("open", of: given, at: request.package.path) { library.open($0, &model, $1) }
        guard let model else {
            throw AccelError(
                .backend, "open succeeded without a model", at: "plug-in \(id), \(request.package.path)",
                hint: "the plug-in has to set *model")
        }
        progress(.ready)
        return PluginModel(
            PluginHandle(model, freedBy: library.close), functions: functions(request), library: library)
    }

    private func functions(_ request: BackendRequest) -> [FunctionDescription] {
        request.package.graph.functions.map(FunctionDescription.init)
    }

    private func cRequest(_ request: BackendRequest, checksFiles: Bool) throws(AccelError) -> PluginRequest {
        var export: String?
        if let format = library.exportFormat {
            export = try ExportBeside.folder(of: request.package, format: format, checksFiles: checksFiles)
        }
        return PluginRequest(request, functions: functions(request), export: export)
    }
}

extension PluginLibrary {
    /// Calls a function with a request.
    @discardableResult
    fileprivate func call(
        _ name: String, of request: PluginRequest, at location: String,
        _ body: (UnsafePointer<accel_plugin_request>, UnsafeMutablePointer<accel_plugin_error>) -> Status
    ) throws(AccelError) -> String {
        try call(name, at: location) { error in request.with { body($0, error) } }
    }
}
