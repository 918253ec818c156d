public import AccelByteIO

extension Picture {
    /// Returns the picture at another size. The bytes are those of `Image.resize` of Pillow 13: each direction is resized by itself, in 8 bits
    /// and with weights in 22 bits, and a smaller picture is smoothed.
    /// - Throws: `RequestError` for a size without pixels or with too many.
    public func resized(
        width newWidth: Int, height newHeight: Int, by filter: ResizingFilter
    ) throws(RequestError) -> Picture {
        try Self.check(newWidth, newHeight)
        // The order decides the rounding. Before version 13 Pillow resized rows first in all cases.
        let isColumnsFirst = newHeight < height && height - newHeight > 2 * (width - newWidth)
        try isColumnsFirst ? Self.check(width, newHeight) : Self.check(newWidth, height)
        if newWidth == width, newHeight == height { return self }
        if filter == .nearest { return nearest(newWidth, newHeight) }
        return isColumnsFirst
            ? resizedColumns(newHeight, filter).resizedRows(newWidth, filter)
            : resizedRows(newWidth, filter).resizedColumns(newHeight, filter)
    }

    private static func check(_ width: Int, _ height: Int) throws(RequestError) {
        let sides = 1...PictureLimits.side
        guard sides.contains(width), sides.contains(height), width * height <= PictureLimits.pixels else {
            throw RequestError(
                "a picture cannot be resized to \(width) x \(height); at most \(PictureLimits.side) columns and rows and \(PictureLimits.pixels) pixels are supported"
            )
        }
    }

    private func resizedRows(_ newWidth: Int, _ filter: ResizingFilter) -> Picture {
        guard newWidth != width else { return self }
        let weights = ResizingWeights(from: width, to: newWidth, by: filter)
        let rows = [UInt8](unsafeUninitializedCapacity: 3 * newWidth * height) { target, count in
            pixels.withUnsafeBufferPointer { source in
                for y in 0..<height {
                    for x in 0..<newWidth {
                        var sums = SIMD4<Int32>(repeating: 1 << Int32(ResizingWeights.bits - 1))
                        var index = 3 * (y * width + weights.firsts[x])
                        for weight in weights.weights[weights.starts[x]..<weights.starts[x + 1]] {
                            let pixel = SIMD4<Int32>(
                                Int32(source[index]), Int32(source[index + 1]), Int32(source[index + 2]), 0)
                            sums &+= pixel &* weight
                            index += 3
                        }
                        let place = 3 * (y * newWidth + x)
                        for sample in 0..<3 { target[place + sample] = Self.rounded(sums[sample]) }
                    }
                }
            }
            count = 3 * newWidth * height
        }
        return Picture(rows: rows, width: newWidth, height: height)
    }

    private func resizedColumns(_ newHeight: Int, _ filter: ResizingFilter) -> Picture {
        guard newHeight != height else { return self }
        let weights = ResizingWeights(from: height, to: newHeight, by: filter)
        let samples = 3 * width
        var sums = [Int32](repeating: 0, count: samples)
        let rows = [UInt8](unsafeUninitializedCapacity: samples * newHeight) { target, count in
            pixels.withUnsafeBufferPointer { source in
                sums.withUnsafeMutableBufferPointer { sums in
                    for y in 0..<newHeight {
                        sums.update(repeating: 1 << Int32(ResizingWeights.bits - 1))
                        var index = samples * weights.firsts[y]
                        for weight in weights.weights[weights.starts[y]..<weights.starts[y + 1]] {
                            for sample in 0..<samples { sums[sample] &+= Int32(source[index + sample]) &* weight }
                            index += samples
                        }
                        for sample in 0..<samples { target[samples * y + sample] = Self.rounded(sums[sample]) }
                    }
                }
            }
            count = samples * newHeight
        }
        return Picture(rows: rows, width: width, height: newHeight)
    }

    @inline(__always)
    private static func rounded(_ sum: Int32) -> UInt8 {
        UInt8(max(0, min(255, sum >> Int32(ResizingWeights.bits))))
    }

    private func nearest(_ newWidth: Int, _ newHeight: Int) -> Picture {
        /// The nearest pixels. Steps are added up, as Pillow does it, because the rounding of a product is another one.
        func positions(_ source: Int, _ target: Int) -> [Int] {
            let step = Double(source) / Double(target)
            var position = step * 0.5
            return (0..<target).map { _ in
                defer { position += step }
                return min(Int(position), source - 1)
            }
        }
        let columns = positions(width, newWidth)
        var result: [UInt8] = []
        result.reserveCapacity(3 * newWidth * newHeight)
        for y in positions(height, newHeight) {
            for x in columns {
                let first = 3 * (y * width + x)
                result += pixels[first..<first + 3]
            }
        }
        return Picture(rows: result, width: newWidth, height: newHeight)
    }

    /// Returns the middle part of the picture, in black where the picture is smaller. An odd pixel is left out at the right and at the bottom, and
    /// added at the left and at the top, as by the image processors of transformers.
    /// - Throws: `RequestError` for a size without pixels or with too many.
    public func centre(width newWidth: Int, height newHeight: Int) throws(RequestError) -> Picture {
        try Self.check(newWidth, newHeight)
        /// The first pixel in the picture, negative where the picture is smaller.
        func first(_ size: Int, _ part: Int) -> Int {
            size >= part ? (size - part) / 2 : -((part - size + 1) / 2)
        }
        let (left, top) = (first(width, newWidth), first(height, newHeight))
        var part = [UInt8](repeating: 0, count: 3 * newWidth * newHeight)
        let columns = max(0, -left)..<min(newWidth, width - left)
        for y in max(0, -top)..<min(newHeight, height - top) {
            let source = 3 * ((y + top) * width + columns.lowerBound + left)
            let target = 3 * (y * newWidth + columns.lowerBound)
            part.replaceSubrange(target..<target + 3 * columns.count, with: pixels[source..<source + 3 * columns.count])
        }
        return Picture(rows: part, width: newWidth, height: newHeight)
    }
}
