import AccelTensors
import AccelWeightCompression

extension WeightFault {
    /// The first block's bias is multiplied by 1.1.
    static let shiftedBias = WeightFault(
        name: "shift a bias", detail: "one block's bias times 1.1 (with method=gptq: 3)"
    ) { weight, _ in
        weight.scaled("biases", 0..<1, by: weight.hasFreedom ? 3 : 1.1).map { [$0] }
    }

    /// A weight that a mask keeps, or an outlier, is in the column beside its own.
    static let movedWeight = WeightFault(
        name: "move a weight", detail: "a kept weight or an outlier stands in the column beside its own"
    ) { weight, _ in
        var copy = weight
        if let mask = weight.index(of: "mask") {
            for index in weight.sections[mask].indices {
                let byte = weight.sections[mask][index]
                guard let bit = (0..<7).first(where: { byte >> $0 & 3 == 1 }) else { continue }
                // The new column must not be beyond the row's last one.
                let column = index % ((weight.shape.columns + 7) / 8) * 8 + bit + 1
                guard column < weight.shape.columns else { continue }
                copy.sections[mask][index] ^= 3 << bit
                return [copy]
            }
            return nil
        }
        guard let columns = weight.index(of: "columns"), weight.shape.columns > 1 else { return nil }
        // If it is the row's only outlier, it can move to any column.
        let width = weight.shape.columns <= 1 << 16 ? 2 : 4
        guard let starts = weight.index(of: "starts"),
            let row = (0..<weight.shape.rows).first(where: {
                weight.number($0 + 1, in: starts, width: 4) - weight.number($0, in: starts, width: 4) == 1
            })
        else { return nil }
        let index = weight.number(row, in: starts, width: 4)
        let column = weight.number(index, in: columns, width: width)
        // The new column is the other one in a pair of columns.
        guard column ^ 1 < weight.shape.columns else { return nil }
        copy.sections[columns][index * width] ^= 1
        return [copy]
    }

    /// The first outlier is multiplied by 1.1.
    static let scaledOutlier = WeightFault(name: "scale an outlier", detail: "one outlier times 1.1") { weight, _ in
        weight.scaled("outliers", 0..<1, by: 1.1).map { [$0] }
    }
}

extension StoredBytes {
    /// Returns a little-endian number of `width` bytes in a section.
    fileprivate func number(_ index: Int, in section: Int, width: Int) -> Int {
        (0..<width).reduce(0) { $0 | Int(sections[section][index * width + $1]) << (8 * $1) }
    }
}
