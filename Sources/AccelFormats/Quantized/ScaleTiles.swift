import AccelByteIO
import AccelTensors

/// Which weights of a matrix share a scale, as a configuration states it.
enum ScaleSharing: Hashable, Sendable {
    case tensor
    /// A row.
    case channel
    /// So many columns of a row.
    case group(Int)
    /// A rectangle of rows and columns.
    case block(Int, Int)

    /// Returns the rectangles of a matrix.
    func tiles(_ rows: Int, _ columns: Int) -> ScaleTiles {
        switch self {
        case .tensor: ScaleTiles(rows: rows, columns: columns, height: rows, width: columns)
        case .channel: ScaleTiles(rows: rows, columns: columns, height: 1, width: columns)
        case .group(let size): ScaleTiles(rows: rows, columns: columns, height: 1, width: min(size, columns))
        case .block(let height, let width):
            ScaleTiles(rows: rows, columns: columns, height: min(height, rows), width: min(width, columns))
        }
    }

    /// Returns whether scales of a matrix may have a shape.
    func fits(_ scales: Shape, _ rows: Int, _ columns: Int) -> Bool {
        let tiles = tiles(rows, columns)
        if tiles.down == 1, tiles.across == 1 { return scales.count == 1 && scales.rank <= 2 }
        if tiles.height == 1, tiles.across == 1, scales == [rows] { return true }
        return scales.rank == 2 && scales.matrix == (tiles.down, tiles.across)
    }

    var text: String {
        switch self {
        case .tensor: "one scale"
        case .channel: "a scale for each row"
        case .group(let size): "a scale for \(size) columns"
        case .block(let height, let width): "a scale for \(height) x \(width) weights"
        }
    }
}

/// The rectangles of a matrix that share a scale. Those at the lower and right edges may be smaller.
struct ScaleTiles: Hashable, Sendable {
    let rows: Int
    let columns: Int
    let height: Int
    let width: Int

    /// The number of rectangles below each other.
    var down: Int { (rows + height - 1) / height }
    /// The number of rectangles side by side.
    var across: Int { (columns + width - 1) / width }

    /// Returns the rectangles by the shape of scales alone, where only one reading has that shape; nil if there are several
    /// or none: fewer scales than rows are those of blocks of an unknown size.
    init?(of scales: Shape, _ rows: Int, _ columns: Int) {
        let isGroup = scales.rank == 2 && scales.matrix.rows == rows && scales.matrix.columns > 0
        if scales.count == 1, scales.rank <= 2 {
            self = ScaleSharing.tensor.tiles(rows, columns)
        } else if scales == [rows] || scales == [rows, 1] {
            self = ScaleSharing.channel.tiles(rows, columns)
        } else if isGroup, columns % scales.matrix.columns == 0 {
            self = ScaleSharing.group(columns / scales.matrix.columns).tiles(rows, columns)
        } else {
            return nil
        }
    }

    init(rows: Int, columns: Int, height: Int, width: Int) {
        (self.rows, self.columns, self.height, self.width) = (rows, columns, height, width)
    }

    /// Returns the values of all rows, `across` for each, of those of rectangles.
    func inRows<Value>(_ values: [Value]) -> [Value] {
        height == 1 ? values : (0..<rows).flatMap { values[$0 / height * across..<($0 / height + 1) * across] }
    }

    /// Returns the values of smaller rectangles of `size` rows and columns, which divide `height` and `width` except at edges.
    func inBlocks<Value>(of size: Int, _ values: [Value]) -> [Value] {
        (0..<(rows + size - 1) / size).flatMap { row in
            (0..<(columns + size - 1) / size).map { values[row * size / height * across + $0 * size / width] }
        }
    }
}
