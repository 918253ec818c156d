/// A set of Unicode scalars with membership in constant time: one bit for each scalar, in pages of 256 that equal pages share.
struct ScalarSet: Sendable {
    private let storage: ScalarSetStorage
    /// The set without the reference that keeps its tables: for loops that a count of references would slow.
    let view: ScalarSetView

    init(_ set: ScalarRanges) {
        var pageOfBlock = [UInt16](repeating: 0, count: Int(ScalarRanges.limit) / 256)
        // Page 0 is empty, page 1 is full.
        var pages = [UInt64](repeating: 0, count: 4) + [UInt64](repeating: .max, count: 4)
        var partial = -1
        for range in set.ranges {
            var start = Int(range.lowerBound)
            let end = Int(range.upperBound)
            while start < end {
                let block = start / 256
                let stop = min(end, (block + 1) * 256)
                if stop - start == 256 {
                    pageOfBlock[block] = 1
                } else {
                    if partial != block {
                        partial = block
                        pageOfBlock[block] = UInt16(pages.count / 4)
                        pages += [0, 0, 0, 0]
                    }
                    let first = Int(pageOfBlock[block]) * 4
                    for bit in start % 256..<start % 256 + (stop - start) {
                        pages[first + bit / 64] |= 1 << UInt64(bit % 64)
                    }
                }
                start = stop
            }
        }
        storage = ScalarSetStorage(pageOfBlock, pages)
        view = storage.view
    }

    /// - Parameter scalar: below 0x110000.
    @inline(__always)
    func contains(_ scalar: UInt32) -> Bool { view.contains(scalar) }
}

/// The tables of a set, which are never written after they are made.
private final class ScalarSetStorage: @unchecked Sendable {
    private let pageOfBlock: UnsafeMutablePointer<UInt16>
    private let pages: UnsafeMutablePointer<UInt64>

    /// - Parameter pageOfBlock: the page of each 256 scalars.
    /// - Parameter pages: four words of each page.
    init(_ pageOfBlock: [UInt16], _ pages: [UInt64]) {
        self.pageOfBlock = .allocate(capacity: pageOfBlock.count)
        self.pageOfBlock.initialize(from: pageOfBlock, count: pageOfBlock.count)
        self.pages = .allocate(capacity: pages.count)
        self.pages.initialize(from: pages, count: pages.count)
    }

    deinit {
        pageOfBlock.deallocate()
        pages.deallocate()
    }

    var view: ScalarSetView {
        let first = pages + Int(pageOfBlock[0]) * 4
        return ScalarSetView(ascii: (first[0], first[1]), pageOfBlock: pageOfBlock, pages: pages)
    }
}

/// A set whose `ScalarSet` has to outlive it.
struct ScalarSetView: @unchecked Sendable {
    // Safe: the tables are immutable.
    fileprivate let ascii: (UInt64, UInt64)
    fileprivate let pageOfBlock: UnsafePointer<UInt16>
    fileprivate let pages: UnsafePointer<UInt64>

    fileprivate init(ascii: (UInt64, UInt64), pageOfBlock: UnsafePointer<UInt16>, pages: UnsafePointer<UInt64>) {
        self.ascii = ascii
        self.pageOfBlock = pageOfBlock
        self.pages = pages
    }

    /// - Parameter scalar: below 0x110000.
    @inline(__always)
    func contains(_ scalar: UInt32) -> Bool {
        if scalar < 64 { return ascii.0 >> UInt64(scalar) & 1 == 1 }
        if scalar < 128 { return ascii.1 >> UInt64(scalar & 63) & 1 == 1 }
        let page = Int(pageOfBlock[Int(scalar >> 8)])
        return pages[page * 4 + Int(scalar >> 6 & 3)] >> UInt64(scalar & 63) & 1 == 1
    }
}

/// A small number for each Unicode scalar, in pages of 256 that uniform blocks share.
struct ScalarMap: Sendable {
    private let pageOfBlock: [UInt16]
    private let pages: [UInt8]

    /// - Parameter runs: ascending from scalar 0: first scalar << 8 | value.
    init(runs: UnsafeBufferPointer<UInt32>) {
        var pageOfBlock: [UInt16] = []
        var pages: [UInt8] = []
        var uniform: [UInt8: UInt16] = [:]
        var run = 0
        for block in 0..<Int(ScalarRanges.limit) / 256 {
            let (start, end) = (UInt32(block * 256), UInt32(block * 256 + 256))
            while run + 1 < runs.count, runs[run + 1] >> 8 <= start { run += 1 }
            let value = UInt8(truncatingIfNeeded: runs[run])
            let isUniform = run + 1 == runs.count || runs[run + 1] >> 8 >= end
            if isUniform, let page = uniform[value] {
                pageOfBlock.append(page)
                continue
            }
            let page = UInt16(pages.count / 256)
            var current = run
            for scalar in start..<end {
                while current + 1 < runs.count, runs[current + 1] >> 8 <= scalar { current += 1 }
                pages.append(UInt8(truncatingIfNeeded: runs[current]))
            }
            if isUniform { uniform[value] = page }
            pageOfBlock.append(page)
        }
        self.pageOfBlock = pageOfBlock
        self.pages = pages
    }

    /// - Parameter scalar: below 0x110000.
    @inline(__always)
    subscript(scalar: UInt32) -> UInt8 {
        pages[Int(pageOfBlock[Int(scalar >> 8)]) << 8 + Int(scalar & 0xFF)]
    }
}
