extension Range<Int> {
    /// Divides rows into runs that share a table.
    /// - Parameters:
    ///   - group: the number of rows that share a table, from row 0 on; nil for all of them.
    ///   - most: rows of a run.
    ///   - body: is given a run, and the index of its table where the run before had another one.
    func forEachRun(sharing group: Int?, most: Int, _ body: (_ run: Range<Int>, _ newTable: Int?) -> Void) {
        var (start, current) = (lowerBound, -1)
        while start < upperBound {
            let table = group.map { start / $0 } ?? 0
            let end = Swift.min(group.map { (table + 1) * $0 } ?? upperBound, upperBound, start + most)
            body(start..<end, table == current ? nil : table)
            (start, current) = (end, table)
        }
    }
}
