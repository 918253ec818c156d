import AccelByteIO

extension ImageProcessor {
    /// The size of the picture before its middle is cut out.
    public enum Size: Equatable, Sendable {
        /// Exact sizes, which may change the proportions.
        case exact(height: Int, width: Int)
        /// The length of the shorter side; the other one in proportion, rounded down.
        case shortestEdge(Int)
        /// The length of the shorter side, or less, so that the longer one has at most another length.
        case edges(shortest: Int, longest: Int)
        /// The largest size of the picture's proportions with at most these sides.
        case within(height: Int, width: Int)
    }
}

extension ImageProcessor.Size {
    /// The size depends on that of the picture.
    var isVarying: Bool { if case .exact = self { false } else { true } }

    /// Returns the size of a picture after resizing. A side may be 0 for a picture that is much longer than wide.
    /// - Parameters:
    ///   - height: the rows of the picture, from 1 on.
    ///   - width: its columns, from 1 on.
    func fitting(height: Int, width: Int) -> (height: Int, width: Int) {
        let (short, long) = (min(width, height), max(width, height))
        switch self {
        case .exact(let height, let width): return (height, width)
        case .shortestEdge(let edge):
            let other = Int(Double(edge * long) / Double(short))
            return width <= height ? (other, edge) : (edge, other)
        case .edges(var edge, let longest):
            var exact: Double?
            if Double(long) / Double(short) * Double(edge) > Double(longest) {
                let limited = Double(longest * short) / Double(long)
                (exact, edge) = (limited, Self.rounded(limited))
            }
            // A picture whose shorter side is right stays as it is.
            guard short != edge else { return (height, width) }
            // The longer side follows from the shorter one before it is rounded.
            let other = Int((exact.map { $0 * Double(long) } ?? Double(edge * long)) / Double(short))
            return width < height ? (other, edge) : (edge, other)
        case .within(let mostHeight, let mostWidth):
            let scale = min(Double(mostHeight) / Double(height), Double(mostWidth) / Double(width))
            return (Int(Double(height) * scale), Int(Double(width) * scale))
        }
    }

    /// Returns the nearest integer of a number that is not negative; of two, the even one.
    private static func rounded(_ number: Double) -> Int {
        let whole = Int(number)
        let rest = number - Double(whole)
        return rest > 0.5 || rest == 0.5 && !whole.isMultiple(of: 2) ? whole + 1 : whole
    }

    private static let sides = 1...1 << 14

    /// Reads a size: one number, a list of height and width, or an object.
    /// - Parameter isSquare: one number stands for both sides, not for the shorter one.
    /// - Returns: nil for a missing one.
    /// - Throws: `FormatError` naming the field, for another form and for a side out of range.
    init?(_ field: JSONField, isSquare: Bool) throws {
        guard field.exists else { return nil }
        if case .integer? = field.value {
            let side = try field.int(in: Self.sides)
            self = isSquare ? .exact(height: side, width: side) : .shortestEdge(side)
            return
        }
        if case .array? = field.value {
            let list = try field.array().map { try $0.int(in: Self.sides) }
            guard list.count == 2 else {
                throw field.error("expected a height and a width, found \(list.count) numbers")
            }
            self = .exact(height: list[0], width: list[1])
            return
        }
        func side(_ name: String) throws -> Int { try field[name].int(in: Self.sides) }
        let names = Set(try field.members().filter { $0.field.exists }.map(\.key))
        switch names {
        case ["height", "width"]: self = .exact(height: try side("height"), width: try side("width"))
        case ["shortest_edge"]: self = .shortestEdge(try side("shortest_edge"))
        case ["shortest_edge", "longest_edge"]:
            self = .edges(shortest: try side("shortest_edge"), longest: try side("longest_edge"))
        case ["max_height", "max_width"]: self = .within(height: try side("max_height"), width: try side("max_width"))
        default:
            throw field.error(
                "\(names.sorted().joined(separator: " and ")): only height and width, max_height and max_width, or shortest_edge, alone or with longest_edge, are supported"
            )
        }
    }
}
