import AccelByteIO
import AccelImages
import TestSupport

extension FuzzTarget {
    /// A picture file: a picture has its pixels, and a size that a model would ask for.
    static let image = FuzzTarget(name: "image", seeds: Attack.pictures.map(\.bytes)) { bytes in
        let picture = try Picture(bytes, file: "fuzz")
        precondition(picture.pixels.count == 3 * picture.width * picture.height)
        guard picture.pixels.count < 1 << 20 else { return }
        let filter = ResizingFilter.allCases[bytes.count % ResizingFilter.allCases.count]
        let small = try picture.resized(width: 5, height: 7, by: filter)
        precondition((small.width, small.height) == (5, 7) && small.pixels.count == 105)
        let middle = try picture.centre(width: 9, height: 3)
        precondition((middle.width, middle.height) == (9, 3) && middle.pixels.count == 81)
    }
}
