extension Shape {
    /// Calls `body` for each index in row-major order, with `start` plus the sum of the indices times their strides.
    /// - Parameter strides: one per axis; further ones are ignored.
    package func forEachOffset(from start: Int = 0, by strides: [Int], _ body: (Int) -> Void) {
        guard !dimensions.contains(0) else { return }
        var position = [Int](repeating: 0, count: rank)
        var offset = start
        while true {
            body(offset)
            var axis = rank - 1
            while axis >= 0 {
                position[axis] += 1
                offset += strides[axis]
                if position[axis] < dimensions[axis] { break }
                offset -= strides[axis] * position[axis]
                position[axis] = 0
                axis -= 1
            }
            if axis < 0 { return }
        }
    }
}
