/// The direction in which a camera has stored a picture, with its number in EXIF. (CIPA DC-008, 4.6.5.1.6.)
enum Orientation: Int, CaseIterable {
    /// Rows from the top, pixels from the left.
    case upright = 1
    /// Left and right exchanged.
    case mirrored
    /// Rotated by 180 degrees.
    case rotated180
    /// Top and bottom exchanged.
    case flipped
    /// Rows and columns exchanged.
    case transposed
    /// To be rotated clockwise by 90 degrees.
    case rotated90
    /// Rows and columns exchanged, both from the other end.
    case transverse
    /// To be rotated clockwise by 270 degrees.
    case rotated270

    /// Rows of the stored picture are columns of the upright one.
    var exchangesSides: Bool { rawValue >= Self.transposed.rawValue }
    /// Columns of the stored picture are read from its right.
    fileprivate var isFromRight: Bool {
        switch self {
        case .mirrored, .rotated180, .transverse, .rotated270: true
        case .upright, .flipped, .transposed, .rotated90: false
        }
    }
    /// Rows of the stored picture are read from its bottom.
    fileprivate var isFromBottom: Bool {
        switch self {
        case .rotated180, .flipped, .rotated90, .transverse: true
        case .upright, .mirrored, .transposed, .rotated270: false
        }
    }
}

extension Picture {
    /// Returns the upright picture of one that is stored in a direction.
    func upright(from orientation: Orientation) -> Picture {
        guard orientation != .upright else { return self }
        let (newWidth, newHeight) = orientation.exchangesSides ? (height, width) : (width, height)
        // The first pixel, and the bytes from one to the next in a row and in a column of the upright picture.
        let (right, down) = (
            orientation.isFromRight ? -3 : 3, orientation.isFromBottom ? -3 * width : 3 * width
        )
        let first =
            (orientation.isFromRight ? 3 * (width - 1) : 0)
            + (orientation.isFromBottom ? 3 * width * (height - 1) : 0)
        let (across, along) = orientation.exchangesSides ? (down, right) : (right, down)
        let upright = [UInt8](unsafeUninitializedCapacity: pixels.count) { target, count in
            pixels.withUnsafeBufferPointer { source in
                for y in 0..<newHeight {
                    var index = first + y * along
                    for pixel in newWidth * y..<newWidth * (y + 1) {
                        for sample in 0..<3 { target[3 * pixel + sample] = source[index + sample] }
                        index += across
                    }
                }
            }
            count = pixels.count
        }
        return Picture(rows: upright, width: newWidth, height: newHeight)
    }
}
