import AccelPlatform

/// A filter of `Picture.resized(width:height:by:)`, with its number in Pillow and in the settings of models.
public enum ResizingFilter: Int, CaseIterable, Sendable {
    /// The nearest pixel.
    case nearest = 0
    /// A windowed sinc function over three pixels to each side.
    case lanczos = 1
    /// A triangle over one pixel to each side.
    case bilinear = 2
    /// A cubic curve over two pixels to each side, with the parameter -0.5. (Keys 1981.)
    case bicubic = 3
    /// The mean of the covered pixels.
    case box = 4
    /// A raised cosine over one pixel to each side.
    case hamming = 5

    /// The pixels on each side that have a weight; those of the result where it is smaller.
    var support: Double {
        switch self {
        case .nearest, .box: 0.5
        case .bilinear, .hamming: 1
        case .bicubic: 2
        case .lanczos: 3
        }
    }

    /// Returns the weight of a pixel at a distance from the centre, before all weights are divided by their sum.
    func weight(_ distance: Double) -> Double {
        let x = abs(distance)
        switch self {
        case .nearest, .box: return distance > -0.5 && distance <= 0.5 ? 1 : 0
        case .bilinear: return x < 1 ? 1 - x : 0
        case .hamming:
            if x == 0 { return 1 }
            return x < 1 ? Self.sinc(x) * (0.54 + 0.46 * cos(.pi * x)) : 0
        case .bicubic:
            if x < 1 { return (1.5 * x - 2.5) * x * x + 1 }
            return x < 2 ? (((x - 5) * x + 8) * x - 4) * -0.5 : 0
        case .lanczos: return distance >= -3 && distance < 3 ? Self.sinc(distance) * Self.sinc(distance / 3) : 0
        }
    }

    private static func sinc(_ x: Double) -> Double { x == 0 ? 1 : sin(.pi * x) / (.pi * x) }
}
