/// A Core ML model that is an ML Program: what `model.mlmodel` says (Model.proto).
public struct CoreMLModel: Equatable, Sendable {
    /// An input, output or state as applications see it.
    public struct Feature: Equatable, Sendable {
        public var name: String
        public var description: String
        public var type: MILTensorType
        /// Other shapes that it may have, all of its rank; the type's own is the default.
        public var enumeratedShapes: [[Int]]
        /// What each extent may be, where any number of a range is allowed; `Int.max` stands for no limit.
        public var shapeRanges: [ClosedRange<Int>]

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
    public struct Interface: Equatable, Sendable {
        public var function: String
        public var inputs: [Feature]
        public var outputs: [Feature]
        public var states: [Feature]

        public init(function: String, inputs: [Feature], outputs: [Feature], states: [Feature] = []) {
            self.function = function
            self.inputs = inputs
            self.outputs = outputs
            self.states = states
        }
    }
    public struct Metadata: Equatable, Sendable {
        public var description: String
        public var version: String
        public var author: String
        public var license: String
        /// Sorted by key.
        public var other: [MILNamed<String>]

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

    public var specificationVersion: Int
    public var metadata: Metadata
    /// One for each function of the program; the first is the default.
    public var interfaces: [Interface]
    public var program: MILProgram

    public init(specificationVersion: Int, metadata: Metadata, interfaces: [Interface], program: MILProgram) {
        self.specificationVersion = specificationVersion
        self.metadata = metadata
        self.interfaces = interfaces
        self.program = program
    }
}

extension CoreMLModel {
    /// What stands after the name of an output that is called as a state is.
    public static let outputSuffix = "_output"

    /// The patterns of tensors that were left out on request.
    public var ignoredTensors: [String] {
        metadata.other.first { $0.name == ExportedModel.ignoredTensorsKey }?.content
            .split(separator: "\n").map(String.init) ?? []
    }

    /// The metadata entry that lists the outputs which are the parts of `output`, along its last axis.
    static func partsKey(of output: String, in function: String) -> String { "accelc.parts.\(function).\(output)" }

    /// The metadata entry that says what a weight of `function` holds: the rows, and the tensor's name.
    static func rowsKey(of weight: String, in function: String) -> String { "accelc.rows.\(function).\(weight)" }

    /// What weights of a function hold, by their names, where accelc wrote it down.
    func rows(of function: String) -> [String: TensorRows] {
        let prefix = Self.rowsKey(of: "", in: function)
        return metadata.other.filter { $0.name.hasPrefix(prefix) }.reduce(into: [:]) { known, entry in
            known[String(entry.name.dropFirst(prefix.count))] = TensorRows(entry.content)
        }
    }

    /// By the name of each output that a function gives in parts: the parts' names.
    public func parts(of function: String) -> [String: [String]] {
        let prefix = Self.partsKey(of: "", in: function)
        return Dictionary(
            metadata.other.filter { $0.name.hasPrefix(prefix) }.map {
                (String($0.name.dropFirst(prefix.count)), $0.content.split(separator: " ").map(String.init))
            }
        ) { first, _ in first }
    }
}
