import CAccelKernels

/// Panels: rows of a weight that lie side by side, so that a matrix product reads them in order.
enum Panels {
    /// Rows of a panel.
    static let width = ck_panel_width()

    static func count(rows: Int) -> Int { (rows + width - 1) / width }

    /// The rows of some panels of a weight with so many rows.
    static func rows(of panels: Range<Int>, among rows: Int) -> Range<Int> {
        panels.lowerBound * width..<min(panels.upperBound * width, rows)
    }
}

/// The pieces of a product of panels: a group of panels that share a pass over x, and some rows of x.
struct PanelPieces: Sendable {
    /// Rows that are finished before the next ones are multiplied, while they are in the cache: those that the product itself
    /// divides rows into. Also the fewest for which a group of panels is packed once more.
    private static let rowsAtOnce = 128
    private let (panels, rows): (Int, Int)
    /// Panels of a group.
    let panelsAtOnce: Int
    private let (rowBlocks, rowsPerBlock): (Int, Int)
    let count: Int
    private let workspace: Workspace

    /// - Parameters:
    ///   - panels: of the weight.
    ///   - rows: of x.
    ///   - fitting: the panels that fit in the cache.
    ///   - workspace: of the call.
    init(panels: Int, rows: Int, fitting: Int, in workspace: Workspace) {
        (self.panels, self.rows, self.workspace) = (panels, rows, workspace)
        // Enough groups are left for all workers.
        panelsAtOnce = max(1, min(4, fitting, panels / 8))
        let groups = (panels + panelsAtOnce - 1) / panelsAtOnce
        // A piece packs its panels, so rows are divided only where panels alone leave workers idle.
        rowBlocks = groups < 4 ? max(1, min(4, rows / Self.rowsAtOnce)) : 1
        rowsPerBlock = (rows + rowBlocks - 1) / rowBlocks
        count = groups * rowBlocks
    }

    func panels(of piece: Int) -> Range<Int> {
        let first = piece / rowBlocks * panelsAtOnce
        return first..<min(first + panelsAtOnce, panels)
    }

    /// Calls `body` with the rows of a piece, some at a time, until the run has to end: a piece may have all rows of x.
    func forEachRows(of piece: Int, _ body: (Range<Int>) -> Void) {
        let start = piece % rowBlocks * rowsPerBlock
        let end = min(start + rowsPerBlock, rows)
        for first in stride(from: start, to: end, by: Self.rowsAtOnce) where !workspace.isCancelled {
            body(first..<min(first + Self.rowsAtOnce, end))
        }
    }
}
