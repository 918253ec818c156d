public import AccelByteIO
package import AccelTensors

/// A numeric probe: inputs of a package's functions with samples of their outputs, by which an opening backend is checked. It
/// is the asset `probe.json`; readers that do not know it pass it through.
public struct PackageProbe: Equatable, Sendable {
    /// The name of the asset.
    public static let assetName = "probe.json"
    /// The version of the inputs and samples that conversions choose.
    public static let version = 1
    /// The key in `tolerances` for all backends that it does not name.
    public static let anyBackend = "*"
    private static let limits = (bytes: 16 << 20, values: 1 << 16)

    /// The elements of an input: the values, repeated to fill its shape.
    public struct Input: Equatable, Sendable {
        /// The name of the port.
        public var name: String
        /// At least one number.
        public var values: [Double]
        /// Creates an input.
        public init(name: String, values: [Double]) { (self.name, self.values) = (name, values) }
    }
    /// Samples of an output.
    public struct Output: Equatable, Sendable {
        /// The name of the port.
        public var name: String
        /// The distance between two samples, in elements; the first one is element 0.
        public var stride: Int
        /// The elements 0, `stride`, 2 * `stride`, ..., all finite.
        public var values: [Double]
        /// Creates samples.
        public init(name: String, stride: Int, values: [Double]) {
            (self.name, self.stride, self.values) = (name, stride, values)
        }
    }
    /// A run of a function from the initial states.
    public struct Run: Equatable, Sendable {
        /// The name of the function.
        public var function: String
        /// All inputs of the function.
        public var inputs: [Input]
        /// Outputs of the function.
        public var outputs: [Output]
        /// Creates a run.
        public init(function: String, inputs: [Input], outputs: [Output]) {
            (self.function, self.inputs, self.outputs) = (function, inputs, outputs)
        }
    }

    /// The runs, in the order of the package's functions.
    public var runs: [Run]
    /// The largest difference that is allowed, in units of the largest sample of an output, by the name of a backend.
    public var tolerances: [String: Double]

    /// Creates a probe.
    /// - Parameter tolerances: has an entry for `anyBackend`.
    public init(runs: [Run], tolerances: [String: Double]) { (self.runs, self.tolerances) = (runs, tolerances) }

    /// The largest difference that a backend is allowed; 0 if there is none for it and none for all.
    public func tolerance(of backend: String) -> Double { tolerances[backend] ?? tolerances[Self.anyBackend] ?? 0 }

    /// Reads a probe.
    /// - Throws: `FormatError` with the field that is wrong.
    public init(_ bytes: ByteView, file: String) throws {
        guard bytes.count <= Self.limits.bytes else {
            throw FormatError(file: file, reason: "has \(bytes.count) bytes; a probe has at most \(Self.limits.bytes)")
        }
        let document = JSONField(try JSON.parse(bytes, file: file), file: file)
        func values(_ field: JSONField) throws -> [Double] {
            let values = try field.array().map { try $0.double() }
            guard !values.isEmpty, values.count <= Self.limits.values else {
                throw field.error("expected 1 to \(Self.limits.values) numbers, found \(values.count)")
            }
            return values
        }
        runs = try document["runs"].array().map { run in
            Run(
                function: try run["function"].string(),
                inputs: try run["inputs"].array().map {
                    Input(name: try $0["name"].string(), values: try values($0["values"]))
                },
                outputs: try run["outputs"].array().map {
                    let stride = try $0["stride"].int()
                    guard stride > 0 else { throw $0["stride"].error("expected at least 1, found \(stride)") }
                    return Output(name: try $0["name"].string(), stride: stride, values: try values($0["values"]))
                })
        }
        let members = try document["tolerances"].members()
        tolerances = Dictionary(try members.map { ($0.key, try $0.field.double()) }) { first, _ in first }
        guard tolerances[Self.anyBackend] != nil else {
            throw document["tolerances"].error("has no entry \"\(Self.anyBackend)\", for all other backends")
        }
        for (name, value) in tolerances.sorted(by: { $0.key < $1.key }) where !(value >= 0) {
            throw document["tolerances"][name].error("expected a number from 0, found \(value)")
        }
    }

    /// The probe as the asset of a package.
    public var asset: Asset {
        func numbers(_ values: [Double]) -> JSON { .array(values.map { .number($0) }) }
        let document: JSON = [
            "version": .integer(Int64(Self.version)),
            "tolerances": .object(tolerances.sorted { $0.key < $1.key }.map { JSON.Member($0.key, .number($0.value)) }),
            "runs": .array(
                runs.map { run in
                    [
                        "function": .string(run.function),
                        "inputs": .array(
                            run.inputs.map { ["name": .string($0.name), "values": numbers($0.values)] }),
                        "outputs": .array(
                            run.outputs.map {
                                [
                                    "name": .string($0.name), "stride": .integer(Int64($0.stride)),
                                    "values": numbers($0.values),
                                ]
                            }),
                    ]
                }),
        ]
        return Asset(name: Self.assetName, content: ByteView(Array(document.text().utf8)))
    }
}

extension AcceleratorPackage {
    /// The numeric probe; nil if the package was converted without one.
    /// - Throws: `FormatError` if it is not valid.
    public var probe: PackageProbe? {
        get throws {
            guard let asset = try asset(PackageProbe.assetName) else { return nil }
            return try PackageProbe(asset.content, file: "\(path)/assets/\(asset.name)")
        }
    }
}

extension PackageProbe.Input {
    /// The input with a type and shape: floating-point numbers are rounded to it, others truncated.
    package func tensor(_ type: ElementType, _ shape: Shape) -> StoredTensor {
        let numbers = (0..<shape.count).map { values[$0 % values.count] }
        if type == .int64 {
            return StoredTensor(name: name, integers: numbers.map { Int64(exactly: $0) ?? 0 }, shape: shape)
        }
        if type == .bool {
            let bytes = ByteView(numbers.map { UInt8($0 == 0 ? 0 : 1) })
            return StoredTensor(name: name, elementType: .bool, shape: shape, bytes: bytes)
        }
        return StoredTensor(name: name, floats: numbers.map { Float($0) }, shape: shape)
    }
}

extension PackageProbe {
    /// The elements of an output of any type.
    package static func numbers(of tensor: StoredTensor) -> [Double] {
        tensor.elementType.isFloatingPoint ? tensor.floats().map { Double($0) } : tensor.integers().map { Double($0) }
    }
}
