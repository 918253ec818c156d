import AccelByteIO
import AccelTensors

/// The order of columns of a GPTQ layer: `g_idx`, the group of each column.
struct GPTQOrder: Sendable {
    /// The most columns of a group.
    let group: Int
    /// The group of each column; nil where groups are neighbours.
    let groupOfColumn: [Int]?
    /// Checks what the configuration states of an order that was not read.
    /// - Throws: `FormatError`.
    let check: @Sendable () throws -> Void

    /// Takes the order that the configuration states. Where it states none, the tensor of one number for each column is read.
    /// - Parameter statements: those of the configuration about the layer.
    /// - Throws: `FormatError` for groups that do not exist, and for another order or larger groups than the configuration states.
    init(_ layer: QuantizedLayer, _ indices: StoredTensor, groups: Int, _ statements: [LayerStatement]) throws {
        let columns = indices.shape.count
        let ordering = layer.configuration["desc_act"]
        let isStated = try ordering.exists && !ordering.bool() && !layer.configuration["dynamic"].exists
        let sizes = Set(
            statements.compactMap { statement -> Int? in
                if case .group(let size)? = statement.sharing { min(size, columns) } else { nil }
            })
        let read: @Sendable (_ group: Int?) throws -> [Int] = { group in
            let order = indices.integers().map { Int($0) }
            if let index = order.firstIndex(where: { !(0..<groups).contains($0) }) {
                throw indices.error("is \(order[index]), but there are \(groups) groups", index: index)
            }
            let isWrong = { (index: Int) in
                group.map { order[index] != index / $0 } ?? (index > 0 && order[index] < order[index - 1])
            }
            if isStated, let index = order.indices.first(where: isWrong) {
                throw indices.error("\(ordering.place) states that columns are in order", index: index)
            }
            return order
        }
        if isStated, let size = sizes.first, sizes.count == 1 {
            (group, groupOfColumn) = (size, nil)
            check = { _ = try read(size) }
            return
        }
        let order = try read(nil)
        // The last group, and groups that were not filled, may be smaller.
        let group = order.reduce(into: [Int](repeating: 0, count: groups)) { $0[$1] += 1 }.max() ?? columns
        if let largest = sizes.max(), group > largest {
            throw indices.error("a group has \(group) columns, and the configuration states \(largest)")
        }
        self.group = group
        groupOfColumn = order.indices.allSatisfy { order[$0] == $0 / group } ? nil : order
        check = {}
    }
}
