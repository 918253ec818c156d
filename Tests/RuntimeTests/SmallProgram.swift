import AccelPrograms
import AccelTensors
import AccelWeightCompression
import TestSupport

@testable import AccelCPURuntime

/// A compiled program with values for its inputs.
struct SmallProgram {
    let frozen: FrozenProgram
    let program: ModelPlan
    let inputs: [String: HostTensor]

    /// - Parameter build: applies operators to the values that `input` and `weight` of the maker make.
    init(compress codec: String = "float32", _ build: (inout Maker) throws -> [Value]) throws {
        var maker = Maker()
        for (index, value) in try build(&maker).enumerated() { maker.builder.output("y\(index)", value) }
        frozen = try maker.builder.finish().freezing(ShapeBindings())
        program = try Recipe(default: Codecs.codec(codec)).compressing([frozen], threads: 1).planned()
        inputs = maker.inputs
    }

    /// The same program with other stored weights.
    init(_ other: SmallProgram, compress codec: any WeightCodec) throws {
        (frozen, inputs) = (other.frozen, other.inputs)
        program = try Recipe(default: codec).compressing([frozen], threads: 1).planned()
    }

    struct Maker {
        var builder = ProgramBuilder(name: "model")
        var generator = SeededGenerator(seed: 1)
        fileprivate(set) var inputs: [String: HostTensor] = [:]

        mutating func input(_ tensor: HostTensor) -> Value {
            let name = "x\(inputs.count)"
            inputs[name] = tensor
            return builder.input(name, tensor.type)
        }
        mutating func input(_ shape: Shape) -> Value { input(random(shape)) }
        mutating func weight(_ tensor: HostTensor) -> Value {
            builder.constant(tensor.stored(name: "w\(Int.random(in: 0..<1 << 40, using: &generator))"), isWeight: true)
        }
        mutating func weight(_ shape: Shape) -> Value { weight(random(shape)) }
        mutating func random(_ shape: Shape) -> HostTensor {
            HostTensor((0..<shape.count).map { _ in Float.random(in: -1...1, using: &generator) }, shape)
        }
    }

    var storedInputs: [String: StoredTensor] {
        Dictionary(uniqueKeysWithValues: inputs.map { ($0, $1.stored(name: $0)) })
    }

    func run(threads: Int = 1) throws -> [HostTensor] {
        try Executor(program, threads: threads).run(storedInputs).map { HostTensor($0) }
    }

    /// The reference meaning, on the weights as they are stored.
    func reference() throws -> [HostTensor] {
        let stored = Dictionary(uniqueKeysWithValues: program.weights.map { ($0.name, $0) })
        return try frozen.evaluate(inputs) { constant in
            guard constant.isWeight, let weight = stored[constant.name], constant.elementType.isFloatingPoint else {
                return try HostTensor(constant.requireTensor())
            }
            return HostTensor(weight.floats(), weight.shape)
        }.map(\.tensor)
    }
}
