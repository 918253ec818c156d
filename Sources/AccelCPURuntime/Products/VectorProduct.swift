import AccelWeightCompression
import CAccelKernels

/// A vector that many rows of weights are multiplied with, in the orders in which kernels read it.
struct DotVector {
    let floats: UnsafePointer<Float>
    /// As `ck_interleave` leaves it; only for products that read it.
    let interleaved: UnsafePointer<Float>
}

/// The product of a stored weight's rows with one float32 vector. What bytes stand for the weight is its encoding; how
/// they are multiplied is a product: a conforming type is one file in `Products/` and one line in `VectorProducts`.
protocol VectorProduct: Sendable {
    /// nil for another encoding, or one of its forms that the product is not made for.
    init?(_ weight: StoredWeight)
    /// Whether it reads the vector interleaved.
    var readsInterleaved: Bool { get }
    /// How the rows are multiplied, for the table of choices.
    var reason: String { get }
    /// Floats of scratch memory that a call for so many rows takes.
    func scratchFloats(rows: Int) -> Int
    /// Multiplies rows with a vector: `target[i]` is the sum of row i's weights, each times its element of `x`, to float32
    /// rounding; the same bits however rows are divided among calls.
    func multiply(
        _ rows: Range<Int>, with x: DotVector, into target: UnsafeMutablePointer<Float>,
        scratch: UnsafeMutablePointer<Float>)
}

/// The products by encoding, for float32 activations; each chooses by instruction set where it runs.
enum VectorProducts {
    static let all: [any VectorProduct.Type] = [
        BlockScaledProduct.self, GGMLProduct.self, HalfRowsProduct.self, Int8Product.self, PaletteProduct.self,
        PermutedProduct.self, SparseProduct.self, VectorEntriesProduct.self,
    ]

    /// The first that takes the weight, or else one that reads its rows as floats.
    static func product(of weight: StoredWeight) -> any VectorProduct {
        for type in all {
            if let product = type.init(weight) { return product }
        }
        return FloatRowsProduct(weight)
    }

    /// The instruction set that products use.
    static var instructionSet: String {
        switch ck_current_isa() {
        case CK_AVX512: "avx512"
        case CK_AVX2: "avx2"
        case CK_NEON: "neon"
        default: "scalar"
        }
    }
}
