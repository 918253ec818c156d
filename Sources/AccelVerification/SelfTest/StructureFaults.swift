import AccelByteIO
import AccelPackages
import AccelPrograms
import AccelTensors
import AccelWeightCompression

extension StructureFault {
    /// A function loses its last output.
    static let droppedOutput = StructureFault(
        name: "drop an output", detail: "a function no longer gives its last output"
    ) { contents in
        contents.changingFunction { program in
            program.outputs.isEmpty ? nil : program.with(outputs: program.outputs.dropLast())
        }
    }

    /// An output's last two axes are swapped.
    static let transposedOutput = StructureFault(
        name: "transpose an output", detail: "the last two axes of an output are swapped"
    ) { contents in
        contents.changingOutput { type in
            let rank = type.rank
            guard rank > 1, (type.shape?.count ?? 0) > 1 else { return nil }
            return Transpose(Array(0..<rank - 2) + [rank - 1, rank - 2])
        }
    }

    /// An output has an additional axis.
    static let reshapedOutput = StructureFault(
        name: "reshape an output", detail: "an output has another axis, of size 1"
    ) { contents in
        contents.changingOutput { type in type.rank < 8 ? Reshape(to: type.dimensions + [1]) : nil }
    }

    /// The new value of a state is not written.
    static let lostStateWrite = StructureFault(
        name: "lose a state's update", detail: "a state holds for the next run what it held before"
    ) { contents in
        contents.changingFunction { program in
            guard let lost = program.states.firstIndex(where: { $0.next != $0.value }) else { return nil }
            var states = program.states
            let state = states[lost]
            states[lost] = .init(name: state.name, value: state.value, next: state.value, initial: state.initial)
            return program.with(states: states)
        }
    }

    /// A state starts 5 higher, or as the opposite flag.
    static let wrongStart = StructureFault(name: "start a state elsewhere", detail: "a state starts as another number")
    { contents in
        guard let name = contents.graph.functions.lazy.flatMap(\.program.states).first?.name else { return nil }
        var copy = contents
        // Functions that share a state start it with the same value.
        copy.graph.functions = contents.graph.functions.map { function in
            function.with(
                function.program.with(
                    states: function.program.states.map { state in
                        guard state.name == name else { return state }
                        let isFlag = function.program.type(of: state.value).elementType == .bool
                        return .init(
                            name: name, value: state.value, next: state.next,
                            initial: isFlag ? 1 - state.initial : state.initial + 5)
                    }))
        }
        return copy
    }

    /// Two functions have exchanged names.
    static let exchangedNames = StructureFault(name: "exchange names", detail: "two functions are called as each other")
    { contents in
        guard contents.graph.functions.count > 1 else { return nil }
        var copy = contents
        let (first, second) = (contents.graph.functions[0], contents.graph.functions[1])
        func named(_ function: FrozenProgram, as other: FrozenProgram) -> FrozenProgram {
            FrozenProgram(frozen: function.program.with(name: other.program.name), bindings: other.bindings)
        }
        copy.graph.functions[0] = named(first, as: second)
        copy.graph.functions[1] = named(second, as: first)
        return copy
    }

    /// A layer norm has another epsilon; the change is too small for any metric.
    static let wrongEpsilon = StructureFault(name: "change an epsilon", detail: "a layer norm's epsilon is 3e-06 more")
    { contents in
        contents.changingOperation { ($0 as? LayerNorm).map { LayerNorm(epsilon: $0.epsilon + 3e-6) } }
    }

    /// An RMS norm has an epsilon of 0.
    static let lostEpsilon = StructureFault(name: "lose an epsilon", detail: "an RMS norm's epsilon is 0") { contents in
        contents.changingOperation { ($0 as? RMSNorm).map { _ in RMSNorm(epsilon: 0) } }
    }

    /// An asset has another last byte.
    static let replacedAsset = StructureFault(
        name: "replace an asset", detail: "a file that is passed through has another last byte"
    ) { contents in
        guard let asset = contents.assets.first, !asset.content.isEmpty else { return nil }
        var bytes = asset.content.withBytes { Array($0) }
        bytes[bytes.count - 1] ^= 1
        var copy = contents
        copy.assets[0].content = ByteView(bytes)
        return copy
    }

    /// The package records another source file.
    static let forgedSource = StructureFault(
        name: "forge a source", detail: "the provenance has another digest of a model's file"
    ) { contents in
        guard let source = contents.provenance.sources.first else { return nil }
        var copy = contents
        copy.provenance.sources[0].digest = SHA256.digest(of: ByteView(source.digest.bytes))
        return copy
    }

    /// The package records another recipe.
    static let forgedRecipe = StructureFault(
        name: "forge the recipe", detail: "the provenance says that weights are stored by another scheme"
    ) { contents in
        guard !contents.coverage.isEmpty else { return nil }
        let isFloat = contents.coverage.contains { $0.tensor.codec.name == "float16" }
        guard let other = try? Codecs.codec(isFloat ? "bfloat16" : "float16") else { return nil }
        var copy = contents
        copy.provenance.recipe = Recipe(default: other).json
        return copy
    }

    /// The coverage table names another reader of a weight.
    static let forgedReader = StructureFault(
        name: "forge a reader", detail: "the coverage table says that another operator reads a weight"
    ) { contents in
        guard !contents.coverage.isEmpty else { return nil }
        var copy = contents
        copy.coverage[0].readers.append(Copy.name)
        return copy
    }

    /// Key/value caches are float16, and the package does not record that.
    static let roundedStates = StructureFault(
        name: "round states", detail: "key/value caches are kept in float16, which nobody asked for"
    ) { contents in
        guard contents.provenance.states == .float32,
            let functions = try? contents.graph.functions.keepingCaches(in: .float16),
            functions.contains(where: { $0.hasStates(in: .float16) })
        else { return nil }
        var copy = contents
        copy.graph.functions = functions
        return copy
    }

    /// The package records another element type of key/value caches.
    static let forgedStates = StructureFault(
        name: "forge the type of states",
        detail: "the provenance says that key/value caches are kept in another element type"
    ) { contents in
        let (functions, own) = (contents.graph.functions, contents.provenance.states)
        let names = KeptCaches(of: functions.map(\.program), in: .float16).names
        guard !names.isEmpty || functions.contains(where: { $0.hasStates(in: own) }) else { return nil }
        var copy = contents
        copy.provenance.states = own == .float16 ? .float32 : .float16
        return copy
    }
}

extension FrozenProgram {
    fileprivate func with(_ program: Program) -> FrozenProgram {
        FrozenProgram(frozen: program, bindings: bindings, remarks: remarks)
    }
}

extension PackageContents {
    /// Returns the package with the first function changed for which `change` returns a result; nil if there is none.
    fileprivate func changingFunction(_ change: (Program) -> Program?) -> PackageContents? {
        for (index, function) in graph.functions.enumerated() {
            guard let changed = change(function.program) else { continue }
            var copy = self
            copy.graph.functions[index] = function.with(changed)
            return copy
        }
        return nil
    }

    /// Returns the package with the first output replaced for which `other` returns an operator; its new value is the
    /// result of that operator.
    fileprivate func changingOutput(_ other: (TensorType) -> (any Operator)?) -> PackageContents? {
        changingFunction { program in
            for (index, output) in program.outputs.enumerated() {
                guard let operation = other(program.type(of: output.value)),
                    let types = try? operation.checkedOutputTypes([program.type(of: output.value)])
                else { continue }
                let result = Value(id: program.types.count)
                var outputs = program.outputs
                outputs[index] = .init(name: output.name, value: result)
                let node = Program.Node(
                    label: "\(output.name).changed", operation: operation, inputs: [output.value], outputs: [result])
                return program.with(nodes: program.nodes + [node], outputs: outputs, types: program.types + types)
            }
            return nil
        }
    }

    fileprivate func changingOperation(_ other: (any Operator) -> (any Operator)?) -> PackageContents? {
        changingFunction { program in
            for (index, node) in program.nodes.enumerated() {
                guard let changed = other(node.operation) else { continue }
                var nodes = program.nodes
                nodes[index] = .init(label: node.label, operation: changed, inputs: node.inputs, outputs: node.outputs)
                return program.with(nodes: nodes)
            }
            return nil
        }
    }
}
