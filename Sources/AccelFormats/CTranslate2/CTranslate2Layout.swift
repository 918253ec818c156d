import AccelByteIO
import AccelTensors

/// The variables of CTranslate2 that hold the modules of a family's checkpoints: one table to write and to read models.
struct CTranslate2Layout: Sendable {
    /// Variables of one module, or of several. Names lack the beginning that all entries of a layer share.
    enum Entry: Sendable {
        /// A whole tensor.
        case tensor(String, String, rank: Int)
        /// A norm: gains, and shifts if it has them.
        case norm(String, String, hasShifts: Bool = true)
        /// A linear layer whose rows are those of modules, one after the other. Where only some have a bias, the others get zeros:
        /// checkpoints never have a bias of the modules in `unbiased`.
        case linear(String, [String], unbiased: Set<String> = [])
        /// Linear layers without biases that hold equal parts of the rows of one module.
        case parts([String], String)
    }

    /// Layers of equal structure, counted from 0.
    struct Stack: Sendable {
        /// The names of variables before the number of a layer, e.g. `encoder/layer_`.
        let variables: String
        /// The names of modules before the number of a layer, e.g. `encoder.layers`.
        let modules: String
        /// A tensor that every layer of a checkpoint has.
        let mark: String
        let entries: [Entry]

        /// The beginnings of the names of one layer.
        func names(_ layer: Int) -> (variables: String, modules: String) {
            ("\(variables)\(layer)/", "\(modules).\(layer).")
        }
    }

    var entries: [Entry] = []
    var stacks: [Stack] = []
}

extension CTranslate2Draft {
    /// Adds the variables of all entries.
    mutating func add(_ layout: CTranslate2Layout) throws {
        for entry in layout.entries { try add(entry, ("", "")) }
        for stack in layout.stacks {
            for layer in 0..<layerCount({ "\(stack.modules).\($0).\(stack.mark)" }) {
                for entry in stack.entries { try add(entry, stack.names(layer)) }
            }
        }
    }

    private mutating func add(
        _ entry: CTranslate2Layout.Entry, _ beginnings: (variables: String, modules: String)
    ) throws {
        let (start, module) = beginnings
        switch entry {
        case .tensor(let name, let tensor, let rank): try add(start + name, module + tensor, rank: rank)
        case .norm(let name, let own, let hasShifts): try norm(start + name, module + own, shifts: hasShifts)
        case .linear(let name, let modules, _): try linear(start + name, modules.map { module + $0 })
        case .parts(let names, let own):
            let packed = try take("\(module + own).weight", rank: 2)
            let rows = packed.shape.dimensions[0]
            guard rows % names.count == 0 else {
                throw packed.error("expected a multiple of \(names.count) rows, found \(packed.shape)")
            }
            let size = rows / names.count
            for (index, name) in names.enumerated() {
                try add("\(start + name)/weight", packed, rows: index * size..<(index + 1) * size)
            }
        }
    }
}
