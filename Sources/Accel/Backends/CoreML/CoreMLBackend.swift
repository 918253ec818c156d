#if canImport(CoreML)
    import AccelByteIO
    import AccelPackages
    import AccelPrograms
    import AccelTensors
    import CoreML

    extension BackendID {
        /// Apple's Core ML.
        public static let coreML = BackendID(rawValue: "coreml")
    }

    /// Runs functions without states by Core ML, from the export beside the package: `NAME.mlpackage` for `NAME.accelpkg`. The
    /// export's metadata names the digest of the package. Core ML compiles it when it is loaded.
    public struct CoreMLBackend: Backend {
        public let id = BackendID.coreML
        /// The entry of an export's metadata with the digest of its package.
        private static let digestKey = "accelc.package"

        /// The backend has no settings.
        public init() {}

        public func assess(_ request: BackendRequest) async -> Assessment {
            do throws(AccelError) {
                _ = try export(request)
                return .suitable(priority: .accelerator, notes: ["Core ML chooses among its processors"])
            } catch {
                return .unsuitable(reason: error.description)
            }
        }

        public func load(
            _ request: BackendRequest, progress: @escaping @Sendable (LoadingEvent) -> Void
        ) async throws(AccelError) -> any LoadedModel {
            let path = try export(request)
            let described = request.package.graph.functions.map(FunctionDescription.init)
            var models: [MLModel] = []
            do {
                progress(.preparing(0))
                let compiled = try await MLModel.compileModel(at: URL(filePath: path))
                // A loaded model holds its files open.
                defer { try? FileManager.default.removeItem(at: compiled) }
                for (index, name) in CoreMLNames.functions(described.map(\.name)).enumerated() {
                    let configuration = MLModelConfiguration()
                    if described.count > 1 { configuration.functionName = name }
                    let model = try MLModel(contentsOf: compiled, configuration: configuration)
                    let metadata = model.modelDescription.metadata[.creatorDefinedKey] as? [String: String]
                    guard metadata?[Self.digestKey] == request.package.digest.description else {
                        throw missing("was not made of the package \(request.package.digest)", path, request)
                    }
                    try Self.check(model.modelDescription, described[index], path)
                    models.append(model)
                    progress(.preparing(Double(index + 1) / Double(described.count + 1)))
                }
            } catch {
                throw AccelError(error, at: path)
            }
            progress(.ready)
            return CoreMLModels(models: models, functions: described)
        }

        /// Returns the path of the export. Looks at its specification, and loads nothing.
        private func export(_ request: BackendRequest) throws(AccelError) -> String {
            let path = ExportBeside.path(of: request.package.path, suffix: ".mlpackage")
            for function in request.package.graph.functions.map(FunctionDescription.init) {
                if let state = function.states.first {
                    throw AccelError(
                        .unsupported, "has the state \"\(state.name)\", and this backend runs functions without states",
                        at: function.name, hint: "use the backend \(BackendID.cpu)")
                }
                let known: [ElementType] = [.float32, .int64]
                if let port = (function.inputs + function.outputs).first(where: { !known.contains($0.elementType) }) {
                    throw AccelError(
                        .unsupported, "\(port.typeText) is not supported; F32 and I64 are",
                        at: "\(function.name), \"\(port.name)\"", hint: "use the backend \(BackendID.cpu)")
                }
            }
            let specification = "\(path)/Data/com.apple.CoreML/model.mlmodel"
            guard Files.kind(of: specification) == .file else {
                throw missing("there is no Core ML export of the package", path, request)
            }
            do {
                let digest = Data(request.package.digest.description.utf8)
                let content = try Data(contentsOf: URL(filePath: specification), options: .mappedIfSafe)
                guard content.range(of: digest) != nil else {
                    throw missing("does not name the package \(request.package.digest)", path, request)
                }
            } catch {
                throw AccelError(error, at: path)
            }
            return path
        }

        private func missing(_ problem: String, _ path: String, _ request: BackendRequest) -> AccelError {
            AccelError(
                .unsupported, problem, at: path, expected: ExportBeside.expected("coreml"))
        }

        private static func check(
            _ model: MLModelDescription, _ function: FunctionDescription, _ path: String
        ) throws(AccelError) {
            for (kind, ports, found) in [
                ("input", function.inputs, model.inputDescriptionsByName),
                ("output", function.outputs, model.outputDescriptionsByName),
            ] {
                for port in ports where found[port.name] == nil {
                    throw AccelError(
                        .unsupported, "the export has no \(kind) \"\(port.name)\"; it has: \(found.keys.sorted())",
                        at: "\(path), \(function.name)", hint: "use the backend \(BackendID.cpu)")
                }
            }
        }
    }

    /// A Core ML model for each function. `MLModel` may be used from several threads.
    private struct CoreMLModels: LoadedModel, @unchecked Sendable {
        let models: [MLModel]
        let functions: [FunctionDescription]
        func makeSession() throws(AccelError) -> any ModelSession { CoreMLSession(self) }
    }

    private final class CoreMLSession: ModelSession {
        private let loaded: CoreMLModels
        init(_ loaded: CoreMLModels) { self.loaded = loaded }

        func run(
            _ function: String, _ inputs: [String: StoredTensor], outputs: Set<String>?,
            until cancellation: Cancellation?
        ) throws(AccelError) -> [String: StoredTensor] {
            let index = try loaded.functions.index(named: function)
            let description = loaded.functions[index]
            try description.check(inputs, outputs: outputs)
            do {
                try cancellation?.check()
                let given = try MLDictionaryFeatureProvider(
                    dictionary: inputs.mapValues { MLFeatureValue(multiArray: try Self.array($0)) })
                let found = try loaded.models[index].prediction(from: given)
                // Core ML cannot stop a run that has begun.
                try cancellation?.check()
                var made: [String: StoredTensor] = [:]
                for port in description.outputs where outputs?.contains(port.name) ?? true {
                    made[port.name] = try Self.tensor(
                        found.featureValue(for: port.name)?.multiArrayValue, port, function)
                }
                return made
            } catch {
                throw AccelError(error, at: function)
            }
        }

        private static func array(_ tensor: StoredTensor) throws -> MLMultiArray {
            // Scalars of the package have one axis in Core ML.
            let dimensions = tensor.shape.dimensions.isEmpty ? [1] : tensor.shape.dimensions
            if tensor.elementType.isFloatingPoint {
                return MLMultiArray(MLShapedArray<Float>(scalars: tensor.floats(), shape: dimensions))
            }
            let integers = try tensor.integers().map { number in
                guard let narrow = Int32(exactly: number) else {
                    throw AccelError(
                        .invalid, "\(number) is too large for Core ML, whose integers have 32 bits",
                        at: "input \"\(tensor.name)\"")
                }
                return narrow
            }
            return MLMultiArray(MLShapedArray<Int32>(scalars: integers, shape: dimensions))
        }

        private static func tensor(
            _ array: MLMultiArray?, _ port: FunctionDescription.Port, _ function: String
        ) throws -> StoredTensor {
            guard let array, array.count == port.shape.count else {
                throw AccelError(
                    .backend, expected: port.typeText, found: array.map { "\($0.shape)" } ?? "no array",
                    at: "\(function), output \"\(port.name)\"")
            }
            if port.elementType == .float32 {
                let floats = MLShapedArray<Float>(converting: array).scalars
                return StoredTensor(name: port.name, floats: floats, shape: port.shape)
            }
            let integers = MLShapedArray<Int32>(converting: array).scalars.map { Int64($0) }
            return StoredTensor(name: port.name, integers: integers, shape: port.shape)
        }

        func snapshot() throws(AccelError) -> [StoredTensor] { [] }
        func restore(_ snapshot: [StoredTensor]) throws(AccelError) {
            guard let state = snapshot.first else { return }
            throw AccelError(.notFound, "there is no such state", at: "state \"\(state.name)\"")
        }
        func reset() {}
    }
#endif
