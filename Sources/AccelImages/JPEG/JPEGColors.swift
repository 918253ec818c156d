import AccelByteIO

/// The colours of a JPEG file: gray; red, green and blue, or brightness and two differences of colours; and the four inks of print, whose
/// cyan, magenta and yellow may be brightness and differences, too.
struct JPEGColors {
    /// The file is one of the JPEG File Interchange Format.
    var isJFIF = false
    /// The transform of colours by Adobe's segment; nil without one.
    var adobeTransform: UInt8?

    /// Whether the components are red, green and blue, or inks, as files without the segments of JFIF may have it.
    private func areColors(_ frame: JPEGFrame) -> Bool {
        if frame.components.count == 4 { return adobeTransform ?? 0 == 0 }
        if isJFIF { return false }
        if let adobeTransform { return adobeTransform == 0 }
        return frame.components.map(\.identifier).elementsEqual("RGB".utf8)
    }

    /// Returns the picture of a frame whose coefficients are complete.
    func picture(_ frame: JPEGFrame) -> Picture {
        var frame = frame
        let areColors = areColors(frame)
        // The coefficients of a component are freed when it has samples.
        var components: [ComponentRows] = []
        while !frame.components.isEmpty {
            components.append(ComponentRows(frame.components[0], of: frame))
            frame.components.removeFirst()
        }
        let (width, height) = (frame.width, frame.height)
        let pixels = [UInt8](unsafeUninitializedCapacity: 3 * width * height) { pixels, count in
            for y in 0..<height {
                let target = UnsafeMutableBufferPointer(rebasing: pixels[3 * width * y..<3 * width * (y + 1)])
                guard components.count >= 3 else {
                    components[0].withRow(y) { gray in
                        for x in 0..<width { for sample in 0..<3 { target[3 * x + sample] = gray[x] } }
                    }
                    continue
                }
                for sample in 0..<3 {
                    components[sample].withRow(y) { row in for x in 0..<width { target[3 * x + sample] = row[x] } }
                }
                if !areColors { Self.convert(target, width) }
                guard components.count == 4 else { continue }
                components[3].withRow(y) { Self.mix(target, $0, width, areInks: areColors) }
            }
            count = 3 * width * height
        }
        return Picture(rows: pixels, width: width, height: height)
    }

    /// Converts a row from brightness and differences of blue and red, with factors in 16 bits. (ITU-T T.871, 7.)
    private static func convert(_ row: UnsafeMutableBufferPointer<UInt8>, _ width: Int) {
        let half = 1 << 15
        for x in 0..<width {
            let (y, blue, red) = (Int(row[3 * x]), Int(row[3 * x + 1]) - 128, Int(row[3 * x + 2]) - 128)
            row[3 * x] = clamped(y + (91881 * red + half) >> 16)
            row[3 * x + 1] = clamped(y + (half - 22554 * blue - 46802 * red) >> 16)
            row[3 * x + 2] = clamped(y + (116130 * blue + half) >> 16)
        }
    }

    /// Converts a row of cyan, magenta and yellow with one of black to red, green and blue, by the formula of Pillow. Files have the
    /// inks inverted, so that 255 is blank paper, with or without the segment of Adobe.
    /// - Parameter areInks: the row has the inverted inks of the file; else it comes from brightness and differences, whose result
    ///   libjpeg inverts once more.
    private static func mix(
        _ row: UnsafeMutableBufferPointer<UInt8>, _ black: UnsafeBufferPointer<UInt8>, _ width: Int, areInks: Bool
    ) {
        for x in 0..<width {
            let light = Int(black[x])
            for index in 3 * x..<3 * x + 3 {
                let ink = areInks ? 255 - Int(row[index]) : Int(row[index])
                // The product divided by 255, rounded.
                let product = ink * light + 128
                row[index] = UInt8(light - (product + product >> 8) >> 8)
            }
        }
    }

    private static func clamped(_ value: Int) -> UInt8 { UInt8(max(0, min(255, value))) }
}
