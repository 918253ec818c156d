import AccelByteIO
import AccelConversion
import AccelModelFamilies
import AccelPackages
import AccelPrograms
import AccelWeightCompression

/// The package that a run needs: the given one, or the one of a model, which is converted first and found in the cache the next time.
struct RunnablePackage {
    let package: AcceleratorPackage
    /// Keeps a package of the cache where it is.
    private let lease: CachedPackage?
    /// Keeps a cache of this run only, where no other one can be written.
    private let scratch: TemporaryFolder?
    /// The cache has compared its files with their digests.
    var isChecked: Bool { lease != nil }

    static let compress = Option(
        "compress", .text("SPEC"), in: .compression,
        "the scheme of the weights of a model that is no package. Quantized weights stay quantized by default; others become float16",
        isCommon: true
    )

    /// The package of `run`.
    init(_ arguments: Arguments, _ console: Console) throws {
        let path = try arguments.required(RunCommand.package)
        guard Self.needsConversion(path) else {
            try arguments.reject([Self.compress], "\(path) is a package", for: "models")
            if !arguments.has(RunCommand.packed) {
                try arguments.reject(
                    [CacheChoice.folder], "a run of a package keeps nothing", for: "--packed-weights and models")
            }
            self.init(try AcceleratorPackage(at: path))
            return
        }
        var conversion = Conversion(of: path, recipe: try Recipe(scheme: arguments[Self.compress] ?? "float16"))
        conversion.keepsQuantized = arguments[Self.compress] == nil
        // What a run needs is not known yet: long texts too, and several at once.
        conversion.takesAllUsualShapes = true
        let needsAllParts =
            SpeechOptions.format(arguments) == .words || arguments.has(PhonemeOptions.phonemes)
            || arguments.has(ImageOptions.image) && arguments.has(TextOptions.text)
        if needsAllParts { conversion.parts = [FamilyModel.everyPart] }
        try self.init(converting: conversion, arguments, console)
    }

    /// A model beside the package, with the weights of its files.
    /// - Parameter settings: those of its conversion.
    init(
        of path: String, _ arguments: Arguments, _ console: Console, settings: (inout Conversion) throws -> Void
    ) throws {
        guard Self.needsConversion(path) else {
            self.init(try AcceleratorPackage(at: path))
            return
        }
        var conversion = Conversion(of: path, recipe: try Recipe(scheme: "stored"))
        conversion.keepsQuantized = true
        try settings(&conversion)
        try self.init(converting: conversion, arguments, console)
    }

    /// The original model of a comparison with a package, with the package's shapes.
    init(originalOf package: AcceleratorPackage, _ path: String, _ arguments: Arguments, _ console: Console) throws {
        try self.init(of: path, arguments, console) { conversion in
            let opening = try arguments.opening
            (conversion.configuration, conversion.ignoredFields) = (opening.configuration, opening.ignoredFields)
            conversion.adapters = opening.adapters
            conversion.parts = package.graph.functions.map(\.program.name).distinct
            conversion.shapes = package.graph.functions.map(\.bindings).distinct
        }
    }

    private init(_ package: AcceleratorPackage, heldBy lease: CachedPackage? = nil) {
        (self.package, self.lease, scratch) = (package, lease, nil)
    }

    /// Whether a name is no package. What is no model either, the conversion says.
    private static func needsConversion(_ path: String) -> Bool {
        PathKind(of: path) != .package
    }

    private init(converting conversion: Conversion, _ arguments: Arguments, _ console: Console) throws {
        var scratch: TemporaryFolder?
        var cache = try CacheChoice.cache(arguments, console)
        if cache.map({ !Files.mayWrite(inFutureFolder: $0.root) }) ?? true, !arguments.has(CacheChoice.folder) {
            console.note(
                "no cache can be written, so that the package of \(conversion.model) is made for this run only")
            let folder = try TemporaryFolder(beside: "\(ProcessEnvironment.temporaryFolder)/accelc-run", mode: 0o700)
            (scratch, cache) = (folder, Cache(root: "\(folder.path)/cache"))
        }
        guard let cache else {
            throw RequestError("there is no folder for the cache", status: .unavailable)
        }
        self.scratch = scratch
        defer { cache.finish() }
        let settings = ConversionSettings(cache: cache, threads: console.threads)
        let events = ConversionConsole(console)
        let made = try conversion.convert(to: .cache, settings) { event in
            // The result is that of the run: of the conversion only warnings and progress are shown.
            if event.kind == .note { console.detail(event.text) } else { events.show(event) }
        }
        // A cache that cannot be written to has no package.
        guard let key = made.key, case .success(let cached) = try cache.open(key.digest) else {
            throw RequestError(
                "the package of \(conversion.model) could not be stored in the cache \(cache.root)",
                status: .unavailable)
        }
        (package, lease) = (cached.package, cached)
    }
}
