import AccelPrograms
import Testing

@Suite("Dimensions")
struct DimensionTests {
    @Test("Equal expressions are equal whatever the order they were written in")
    func canonicalForm() {
        let batch = Dimension.named("batch")
        let sequence = Dimension.named("sequence")
        #expect(batch * sequence == sequence * batch)
        #expect((batch + 2) * sequence == sequence * 2 + batch * sequence)
        #expect(batch - batch == 0)
        #expect((sequence * 2) / 2 == sequence)
        #expect(batch != sequence)
    }

    @Test("Binding every name gives the number that the arithmetic gives")
    func binding() {
        let frames = Dimension.named("frames")
        // A convolution of width 3, stride 2, padding 1.
        let halved = (frames + 2 - 3) / 2 + 1
        #expect(halved.value == nil)
        for number in [1, 2, 7, 3000] {
            #expect(halved.binding(["frames": number]).value == (number - 1) / 2 + 1)
        }
        #expect(halved.names == ["frames"])
        #expect((frames * 2 + 3).binding([:]) == frames * 2 + 3)
    }

    @Test("Division rounds down, below zero too")
    func division() {
        #expect((Dimension.fixed(-1) / 2).value == -1)
        #expect((Dimension.fixed(7) / 2).value == 3)
    }

    @Test("What a divisor divides comes out of the quotient")
    func dividing() {
        let (frames, samples) = (Dimension.named("frames"), Dimension.named("samples"))
        #expect((frames * 6 - 5) / 6 == frames - 1)
        #expect((frames * 6 + 5) / 6 == frames)
        let mixed = (frames * 6 + samples * 5 + 8) / 6
        #expect(mixed == frames + (samples * 5 + 2) / 6 + 1)
        for number in [1, 2, 3, 11] {
            #expect(mixed.binding(["frames": 7, "samples": number]).value == (42 + 5 * number + 8) / 6)
        }
    }

    @Test("Only a lone free dimension has a name")
    func names() {
        #expect(Dimension.named("batch").name == "batch")
        #expect((Dimension.named("batch") * 2).name == nil)
        #expect((Dimension.named("batch") + 1).name == nil)
        #expect(Dimension.fixed(3).name == nil)
    }

    @Test("Huge sizes saturate instead of trapping")
    func saturation() {
        let huge = Dimension.fixed(Int.max)
        #expect((huge * huge).value != nil)
        #expect((huge + huge).value != nil)
    }
}
