public import AccelPrograms

/// A Core ML model with an ML Program: the content of `model.mlmodel` (Model.proto).
public struct CoreMLModel: Equatable, Sendable {
    /// An input, output or state of the interface for applications (FeatureDescription in FeatureTypes.proto and Model.proto).
    public struct Feature: Equatable, Sendable {
        /// The name of the feature.
        public var name: String
        /// A short description for people; may be empty.
        public var description: String
        /// Element type and default shape.
        public var type: MILTensorType
        /// All allowed shapes, with the rank of `type`; empty if the shape is fixed or ranged.
        public var enumeratedShapes: [[Int]]
        /// The allowed sizes of each dimension; `Int.max` stands for no limit. Empty if the shape is fixed or enumerated.
        public var shapeRanges: [ClosedRange<Int>]

        /// A feature with a fixed shape, unless shapes or ranges are given.
        public init(
            _ name: String, _ type: MILTensorType, description: String = "", enumeratedShapes: [[Int]] = [],
            shapeRanges: [ClosedRange<Int>] = []
        ) {
            self.name = name
            self.type = type
            self.description = description
            self.enumeratedShapes = enumeratedShapes
            self.shapeRanges = shapeRanges
        }
    }
    /// The interface of one function for applications.
    public struct Interface: Equatable, Sendable {
        /// The name of the function.
        public var function: String
        /// The inputs.
        public var inputs: [Feature]
        /// The outputs.
        public var outputs: [Feature]
        /// The states, from specification version 9 (iOS 18) on.
        public var states: [Feature]

        /// An interface of a function.
        public init(function: String, inputs: [Feature], outputs: [Feature], states: [Feature] = []) {
            self.function = function
            self.inputs = inputs
            self.outputs = outputs
            self.states = states
        }
    }
    /// The descriptive metadata of a model (Metadata in Model.proto).
    public struct Metadata: Equatable, Sendable {
        /// A short description for people.
        public var description: String
        /// The model's version, free text.
        public var version: String
        /// The author, free text.
        public var author: String
        /// The license, free text.
        public var license: String
        /// Entries for tools and users, by key.
        public var other: [MILNamed<String>]

        /// Metadata with the given texts; all others are empty.
        public init(
            description: String = "", version: String = "", author: String = "", license: String = "",
            other: [MILNamed<String>] = []
        ) {
            self.description = description
            self.version = version
            self.author = author
            self.license = license
            self.other = other
        }
    }

    /// The version of the specification, which sets the oldest system that loads the model.
    public var specificationVersion: Int
    /// The descriptive metadata.
    public var metadata: Metadata
    /// One for each function of the program; the first is the default.
    public var interfaces: [Interface]
    /// The ML Program.
    public var program: MILProgram

    /// A model of a program with an interface for each function.
    public init(specificationVersion: Int, metadata: Metadata, interfaces: [Interface], program: MILProgram) {
        self.specificationVersion = specificationVersion
        self.metadata = metadata
        self.interfaces = interfaces
        self.program = program
    }
}

extension CoreMLModel {
    /// The suffix of an output's name that would otherwise be the name of a state.
    public static let outputSuffix = "_output"

    /// The patterns of the tensors that the conversion's request ignored.
    public var ignoredTensors: [String] {
        metadata.other.first { $0.name == ExportedModel.ignoredTensorsKey }?.content
            .split(separator: "\n").map(String.init) ?? []
    }

    /// The positions of a block of tokens that decoders compute logits for.
    public var logits: LogitPositions {
        metadata.other.first { $0.name == ExportedModel.logitsKey }.flatMap { LogitPositions(rawValue: $0.content) }
            ?? .all
    }

    /// The metadata key for the outputs into which `output` is split along its last axis.
    static func partsKey(of output: String, in function: String) -> String { "accelc.parts.\(function).\(output)" }

    /// The metadata key for the rows of a tensor that a weight of `function` holds.
    static func rowsKey(of weight: String, in function: String) -> String { "accelc.rows.\(function).\(weight)" }

    /// The rows that weights of a function hold, by the weight's name, if the package records them.
    func rows(of function: String) -> [String: TensorRows] {
        let prefix = Self.rowsKey(of: "", in: function)
        return metadata.other.filter { $0.name.hasPrefix(prefix) }.reduce(into: [:]) { known, entry in
            known[String(entry.name.dropFirst(prefix.count))] = TensorRows(entry.content)
        }
    }

    /// Returns the names of the parts of each output that a function returns in parts, by the output's name.
    public func parts(of function: String) -> [String: [String]] {
        let prefix = Self.partsKey(of: "", in: function)
        return Dictionary(
            metadata.other.filter { $0.name.hasPrefix(prefix) }.map {
                (String($0.name.dropFirst(prefix.count)), $0.content.split(separator: " ").map(String.init))
            }
        ) { first, _ in first }
    }
}
