import AccelByteIO

/// The colours of a JPEG file: gray, red, green and blue, or brightness and two differences of colours.
struct JPEGColors {
    /// The file is one of the JPEG File Interchange Format.
    var isJFIF = false
    /// The transform of colours by Adobe's segment; nil without one.
    var adobeTransform: UInt8?

    /// Whether the components are red, green and blue, as files without the segments of JFIF may have it.
    private func areColors(_ frame: JPEGFrame) -> Bool {
        if isJFIF { return false }
        if let adobeTransform { return adobeTransform == 0 }
        return frame.components.map(\.identifier).elementsEqual("RGB".utf8)
    }

    /// Returns the picture of a frame whose coefficients are complete.
    func picture(_ frame: JPEGFrame) -> Picture {
        var frame = frame
        // The coefficients of a component are freed when it has samples.
        var components: [ComponentRows] = []
        while !frame.components.isEmpty {
            components.append(ComponentRows(frame.components[0], of: frame))
            frame.components.removeFirst()
        }
        let (width, height, areColors) = (frame.width, frame.height, components.count == 3 && areColors(frame))
        let pixels = [UInt8](unsafeUninitializedCapacity: 3 * width * height) { pixels, count in
            for y in 0..<height {
                let target = UnsafeMutableBufferPointer(rebasing: pixels[3 * width * y..<3 * width * (y + 1)])
                guard components.count == 3 else {
                    components[0].withRow(y) { gray in
                        for x in 0..<width { for sample in 0..<3 { target[3 * x + sample] = gray[x] } }
                    }
                    continue
                }
                for (sample, _) in components.enumerated() {
                    components[sample].withRow(y) { row in for x in 0..<width { target[3 * x + sample] = row[x] } }
                }
                if !areColors { Self.convert(target, width) }
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

    private static func clamped(_ value: Int) -> UInt8 { UInt8(max(0, min(255, value))) }
}
