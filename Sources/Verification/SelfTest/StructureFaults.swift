import ByteIO
import Packages
import Programs
import Tensors
import WeightCompression

/// An output is not given any more.
struct DroppedOutput: StructureFault {
    let name = "drop an output"
    let detail = "a function no longer gives its last output"

    func inject(into contents: PackageContents) -> PackageContents? {
        contents.changingFunction { function in function.outputs.popLast() != nil }
    }
}

/// An output's last two axes change places.
struct TransposedOutput: StructureFault {
    let name = "transpose an output"
    let detail = "the last two axes of an output change places"

    func inject(into contents: PackageContents) -> PackageContents? {
        contents.changingOutput { layout in
            let rank = layout.shape.rank
            guard rank > 1, layout.shape.count > 1, layout.strides.count == rank else { return false }
            layout.shape.dimensions.swapAt(rank - 1, rank - 2)
            layout.strides.swapAt(rank - 1, rank - 2)
            return true
        }
    }
}

/// An output has an axis more.
struct ReshapedOutput: StructureFault {
    let name = "reshape an output"
    let detail = "an output has another axis, of extent 1"

    func inject(into contents: PackageContents) -> PackageContents? {
        contents.changingOutput { layout in
            guard layout.shape.rank < 8 else { return false }
            layout.shape.dimensions.append(1)
            layout.strides.append(1)
            return true
        }
    }
}

/// What a call should write to a state goes to memory that nothing reads.
struct LostStateWrite: StructureFault {
    let name = "lose a state's update"
    let detail = "what is written to a state goes to memory that nothing reads"

    func inject(into contents: PackageContents) -> PackageContents? {
        contents.changingFunction { function in
            for call in function.calls.indices {
                for output in function.calls[call].outputs.indices {
                    let operand = function.calls[call].outputs[output]
                    guard case .state = operand.storage else { continue }
                    let bytes = (operand.shape.count * operand.elementType.byteCount + 63) / 64 * 64
                    function.calls[call].outputs[output].storage = .arena(function.arenaBytes)
                    function.arenaBytes += bytes
                    return true
                }
            }
            return false
        }
    }
}

/// A state starts as 5 (or true).
struct WrongStart: StructureFault {
    let name = "start a state elsewhere"
    let detail = "a state starts as another number"

    func inject(into contents: PackageContents) -> PackageContents? {
        guard let state = contents.program.functions.lazy.flatMap(\.states).first else { return nil }
        var copy = contents
        // Functions that share a state agree on it.
        for function in copy.program.functions.indices {
            for index in copy.program.functions[function].states.indices
            where copy.program.functions[function].states[index].name == state.name {
                copy.program.functions[function].states[index].initial =
                    state.elementType == .bool ? 1 - state.initial : state.initial + 5
            }
        }
        return copy
    }
}

/// Two functions have each other's names.
struct ExchangedNames: StructureFault {
    let name = "exchange names"
    let detail = "two functions are called as each other"

    func inject(into contents: PackageContents) -> PackageContents? {
        guard contents.program.functions.count > 1 else { return nil }
        var copy = contents
        let name = copy.program.functions[0].name
        copy.program.functions[0].name = copy.program.functions[1].name
        copy.program.functions[1].name = name
        return copy
    }
}

/// A layer norm has another epsilon: too little for any figure.
struct WrongEpsilon: StructureFault {
    let name = "change an epsilon"
    let detail = "a layer norm's epsilon is 3e-06 more"

    func inject(into contents: PackageContents) -> PackageContents? {
        contents.changingOperation { ($0 as? LayerNorm).map { LayerNorm(epsilon: $0.epsilon + 3e-6) } }
    }
}

/// An RMS norm has no epsilon.
struct LostEpsilon: StructureFault {
    let name = "lose an epsilon"
    let detail = "an RMS norm's epsilon is 0"

    func inject(into contents: PackageContents) -> PackageContents? {
        contents.changingOperation { ($0 as? RMSNorm).map { _ in RMSNorm(epsilon: 0) } }
    }
}

/// A file passed through is another one.
struct ReplacedAsset: StructureFault {
    let name = "replace an asset"
    let detail = "a file that is passed through has another last byte"

    func inject(into contents: PackageContents) -> PackageContents? {
        guard let asset = contents.assets.first, !asset.content.isEmpty else { return nil }
        var bytes = asset.content.withBytes { Array($0) }
        bytes[bytes.count - 1] ^= 1
        var copy = contents
        copy.assets[0].content = ByteView(bytes)
        return copy
    }
}

/// The package says to come of another file.
struct ForgedSource: StructureFault {
    let name = "forge a source"
    let detail = "the provenance has another digest of a model's file"

    func inject(into contents: PackageContents) -> PackageContents? {
        guard let source = contents.provenance.sources.first else { return nil }
        var copy = contents
        copy.provenance.sources[0].digest = SHA256.digest(of: ByteView(source.digest.bytes))
        return copy
    }
}

/// The package says to be made by another recipe.
struct ForgedRecipe: StructureFault {
    let name = "forge the recipe"
    let detail = "the provenance says that weights are stored by another scheme"

    func inject(into contents: PackageContents) -> PackageContents? {
        guard !contents.coverage.isEmpty else { return nil }
        let isFloat = contents.coverage.contains { $0.tensor.codec.name == "float16" }
        guard let other = try? Codecs.codec(isFloat ? "bfloat16" : "float16") else { return nil }
        var copy = contents
        copy.provenance.recipe = Recipe(default: other).json
        return copy
    }
}

/// The coverage table names another reader of a weight.
struct ForgedReader: StructureFault {
    let name = "forge a reader"
    let detail = "the coverage table says that another operator reads a weight"

    func inject(into contents: PackageContents) -> PackageContents? {
        guard !contents.coverage.isEmpty else { return nil }
        var copy = contents
        copy.coverage[0].readers.append(Copy.name)
        return copy
    }
}

extension PackageContents {
    /// The first function that `change` can do something to, changed; nil where there is none.
    fileprivate func changingFunction(_ change: (inout CompiledFunction) -> Bool) -> PackageContents? {
        for index in program.functions.indices {
            var copy = self
            if change(&copy.program.functions[index]) { return copy }
        }
        return nil
    }

    fileprivate func changingOutput(_ change: (inout StridedLayout) -> Bool) -> PackageContents? {
        changingFunction { function in
            for index in function.outputs.indices {
                var layout = function.outputs[index].operand.layout
                guard change(&layout) else { continue }
                function.outputs[index].operand.layout = layout
                return true
            }
            return false
        }
    }

    fileprivate func changingOperation(_ other: (any Operator) -> (any Operator)?) -> PackageContents? {
        changingFunction { function in
            for index in function.calls.indices {
                guard let changed = other(function.calls[index].operation) else { continue }
                function.calls[index].operation = changed
                return true
            }
            return false
        }
    }
}
