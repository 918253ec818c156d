// swift-format-ignore-file: AlwaysUseLowerCamelCase

import Accel
import AccelByteIO
import AccelPackages
import AccelPrograms
public import CAccel

/// The object behind a model handle.
final class ModelObject: HandledObject {
    static let kind = Handle.Kind.model
    let model: AccelModel
    /// The handles of the functions. They are released with the model's handle.
    let functions: [FunctionHandle]
    private let memory = LentMemory()
    private let info: FunctionObject.Address<CChar>

    /// A pointer that is a number.
    struct FunctionHandle: @unchecked Sendable {
        let pointer: OpaquePointer?
    }

    init(_ model: AccelModel) throws(AccelError) {
        self.model = model
        info = FunctionObject.Address(memory.string(model.report.text()))
        var functions: [FunctionHandle] = []
        do throws(AccelError) {
            for description in model.functions {
                let object = FunctionObject(try model.function(description.name))
                functions.append(FunctionHandle(pointer: try HandleTable.all.add(object)))
            }
        } catch {
            Self.release(functions)
            throw error
        }
        self.functions = functions
    }

    /// Opens a model, as the options of the caller say.
    convenience init(
        opening source: AccelModel.Source, _ options: UnsafePointer<accel_options>?
    ) throws(AccelError) {
        let options = try optional(options, "accel_options")
        var configuration = try Configuration(options)
        configuration.registry = RegisteredBackends.all.registry
        let trust = Trust(options?.verify, options?.context)
        let progress = options?.progress.map { Callback(function: $0, context: options?.context) }
        let isCancelled = try cancelPoll(options?.cancel)
        try self.init(
            WaitingThread.wait(until: isCancelled) { [configuration] () async throws(AccelError) -> AccelModel in
                try await AccelModel(source, trust: trust, configuration: configuration) {
                    progress?.function(progress?.context, $0.kind.rawValue, $0.fraction, nil)
                }
            })
    }

    var infoText: UnsafePointer<CChar> { info.pointer }
    func releaseFunctions() { Self.release(functions) }

    private static func release(_ functions: [FunctionHandle]) {
        for function in functions { _ = HandleTable.all.release(function.pointer, as: FunctionObject.self) }
    }
}

extension AccelModel {
    /// The report of how the model was opened: its package, backend, attempts and functions.
    fileprivate var report: JSON {
        .object([
            JSON.Member("package", .string(info.package.description)),
            JSON.Member("backend", .string(info.backend.rawValue)),
            JSON.Member("fell_back", .bool(info.didFallBack)),
            JSON.Member(
                "attempts",
                .array(
                    info.attempts.map { attempt in
                        .object([
                            JSON.Member("backend", .string(attempt.backend.rawValue)),
                            JSON.Member("outcome", .string("\(attempt)")),
                            JSON.Member("seconds", .number(attempt.duration / .seconds(1))),
                        ])
                    })),
            JSON.Member("functions", .array(functions.map { .string($0.name) })),
        ])
    }
}

/// A callback of C with its context.
struct Callback<Function>: @unchecked Sendable {
    // C promises that it may be called by any thread.
    let function: Function
    let context: UnsafeMutableRawPointer?
}

/// Asks the caller whether a signature is accepted.
struct CallbackVerifier: SignatureVerifier {
    let callback:
        Callback<@convention(c) (UnsafeMutableRawPointer?, UnsafePointer<CChar>?, UnsafeRawPointer?, Int) -> Int32>

    func verify(_ package: AcceleratorPackage) throws { _ = try verifiedRelease(of: package) }

    func verifiedRelease(of package: AcceleratorPackage) throws -> SignedRelease {
        let (content, release) = try Self.signedContent(of: package)
        let status = content.withBytes { bytes in
            callback.function(callback.context, package.path, bytes.baseAddress, bytes.count)
        }
        guard status == 0 else {
            throw AccelError(.untrusted, "the program's verifier rejects the signature: status \(status)", at: "")
        }
        return release
    }

    /// The statement in an SSH signature beside the package, if there is one; else manifest.json.
    private static func signedContent(
        of package: AcceleratorPackage
    ) throws -> (content: ByteView, release: SignedRelease) {
        let file = package.path + ".sig"
        // The program may have signatures of its own.
        guard Files.kind(of: file) == .file, let signature = try? SSHSignature(try MappedFile(file).bytes, file: file)
        else { return (try package.signedManifest, .unstated) }
        return try package.signedContent(of: signature, file: file)
    }
}

extension Trust {
    /// A signature that the caller accepts; intact bytes without a callback.
    init(_ verify: accel_verify?, _ context: UnsafeMutableRawPointer?) {
        self =
            verify.map { .signed(CallbackVerifier(callback: Callback(function: $0, context: context))) } ?? .intact
    }
}

extension Configuration {
    /// The options of the caller; nil for the defaults.
    fileprivate init(_ options: accel_options?) throws(AccelError) {
        guard let options else {
            self = .automatic
            return
        }
        switch Int(options.preset) {
        case Int(ACCEL_PRESET_AUTOMATIC): self = .automatic
        case Int(ACCEL_PRESET_LOW_LATENCY): self = .lowLatency
        case Int(ACCEL_PRESET_LOW_MEMORY): self = .lowMemory
        case Int(ACCEL_PRESET_BACKGROUND): self = .background
        case Int(ACCEL_PRESET_REPRODUCIBLE): self = .reproducible
        default: throw AccelError(.invalid, "there is no preset \(options.preset)", at: "accel_options.preset")
        }
        if options.backends != nil {
            let names = try string(options.backends, "accel_options.backends").split(
                separator: ",", omittingEmptySubsequences: false
            ).map { BackendID(rawValue: String($0)) }
            backends = names.count == 1 ? .only(names[0]) : .preferring(names)
        }
        threads = try number(options.threads, atMost: 1024, "accel_options.threads").map(Int.init) ?? threads
        concurrency =
            try number(options.concurrency, atMost: 1024, "accel_options.concurrency").map(Int.init) ?? concurrency
        if options.memory_limit != 0 { memoryLimit = Int(clamping: options.memory_limit) }
        preparationLimit = try timeLimit(options.preparation_limit_ms, "accel_options.preparation_limit_ms")
        let (probing, alone) = (UInt32(ACCEL_OPEN_PROBE), UInt32(ACCEL_OPEN_NO_FALLBACK))
        guard options.flags & ~(probing | alone) == 0, options.reserved == 0 else {
            throw AccelError(
                .unsupported, expected: "ACCEL_OPEN_... and 0", found: "\(options.flags), \(options.reserved)",
                at: "accel_options.flags, reserved")
        }
        probe = options.flags & probing != 0
        if options.flags & alone != 0 { fallback = .never }
    }
}

extension AccelModel.Source {
    fileprivate init(_ text: String) {
        if text.hasPrefix("key:") { self = .cached(key: String(text.dropFirst(4))) } else { self = .path(text) }
    }
}

@c @implementation public func accel_model_open(
    _ source: UnsafePointer<CChar>?, _ options: UnsafePointer<accel_options>?,
    _ model: UnsafeMutablePointer<OpaquePointer?>?, _ error: UnsafeMutablePointer<accel_error>?
) -> accel_status {
    attempt(error) { () throws(AccelError) in
        try HandleTable.all.give(to: model, "model") { () throws(AccelError) in
            try ModelObject(opening: AccelModel.Source(try string(source, "source")), options)
        }
    }
}

@c @implementation public func accel_model_release(_ model: OpaquePointer?) -> accel_status {
    guard model != nil else { return AccelError.none }
    return attempt(nil) { () throws(AccelError) in
        try HandleTable.all.remove(model, as: ModelObject.self).releaseFunctions()
    }
}

@c @implementation public func accel_model_info_json(_ model: OpaquePointer?) -> UnsafePointer<CChar>? {
    (try? HandleTable.all.object(model, as: ModelObject.self))?.infoText
}

@c @implementation public func accel_model_trim(_ model: OpaquePointer?) -> accel_status {
    attempt(nil) { () throws(AccelError) in
        try HandleTable.all.object(model, as: ModelObject.self).model.trimMemory()
    }
}

@c @implementation public func accel_model_function_count(_ model: OpaquePointer?) -> Int {
    (try? HandleTable.all.object(model, as: ModelObject.self))?.functions.count ?? 0
}

@c @implementation public func accel_model_function_at(_ model: OpaquePointer?, _ index: Int) -> OpaquePointer? {
    guard let object = try? HandleTable.all.object(model, as: ModelObject.self),
        object.functions.indices.contains(index)
    else { return nil }
    return object.functions[index].pointer
}

@c @implementation public func accel_model_function(
    _ model: OpaquePointer?, _ name: UnsafePointer<CChar>?, _ function: UnsafeMutablePointer<OpaquePointer?>?,
    _ error: UnsafeMutablePointer<accel_error>?
) -> accel_status {
    attempt(error) { () throws(AccelError) in
        let target = try required(function, "function")
        target.pointee = nil
        let object = try HandleTable.all.object(model, as: ModelObject.self)
        let found = try object.model.function(try string(name, "name")).description
        guard let index = object.model.functions.firstIndex(where: { $0.name == found.name }) else {
            throw AccelError(.internalFailure, "is not in the list of functions", at: found.name)
        }
        target.pointee = object.functions[index].pointer
    }
}
