import AccelByteIO

/// A list of distinct items with numbers.
struct Numbered<Item: Hashable> {
    private(set) var items: [Item] = []
    private var numbers: [Item: Int] = [:]

    /// Returns the number of an item, which is added if it is new.
    mutating func number(of item: Item) -> Int {
        if let number = numbers[item] { return number }
        numbers[item] = items.count
        items.append(item)
        return items.count - 1
    }
}

/// The tables of a file that operations refer to: strings, attributes, types, names of operations and properties.
struct CoreAITables {
    var strings = Numbered<String>()
    var attributes = Numbered<CoreAIAttribute>()
    var types = Numbered<CoreAIType>()
    var names = Numbered<String>()
    var properties = Numbered<[UInt8]>()

    /// Returns the encoding of every attribute and type, with those that are parts of others.
    mutating func encoded() -> (attributes: [ByteWriter], types: [ByteWriter]) {
        var (attributes, types) = ([ByteWriter](), [ByteWriter]())
        while attributes.count < self.attributes.items.count || types.count < self.types.items.count {
            if attributes.count < self.attributes.items.count {
                attributes.append(encoding(self.attributes.items[attributes.count]))
            } else {
                types.append(encoding(self.types.items[types.count]))
            }
        }
        return (attributes, types)
    }

    private mutating func encoding(_ attribute: CoreAIAttribute) -> ByteWriter {
        var writer = ByteWriter()
        switch attribute {
        case .string(let text):
            writer.number(1)
            writer.number(strings.number(of: text))
        case .integer(let value, let width, let isUnsigned):
            writer.number(2)
            writer.number(width)
            writer.append(UInt8(isUnsigned ? 1 : 0))
            if width <= 8 { writer.append(UInt8(truncatingIfNeeded: value)) } else { writer.signed(value) }
        case .float(let bits, let width):
            writer.number(3)
            writer.number(width)
            let shift = Int64(64 - width)
            writer.signed((Int64(bitPattern: bits) << shift) >> shift)
        case .type(let type):
            writer.number(4)
            writer.number(types.number(of: type))
        case .array(let items):
            writer.number(5)
            list(items, &writer)
        case .elements(let bytes, let isSplat):
            writer.number(6)
            writer.append(UInt8(isSplat ? 1 : 0))
            writer.number(bytes.count)
            writer.append(bytes)
        case .resource(let index):
            writer.number(7)
            writer.number(index)
        case .named(let name, let items):
            writer.number(9)
            writer.number(strings.number(of: name))
            list(items, &writer)
        case .symbols(let names):
            writer.number(14)
            writer.number(names.count)
            for name in names { writer.number(strings.number(of: name)) }
        case .parameter(let value, let type):
            writer.number(16)
            writer.number(attributes.number(of: value))
            writer.number(types.number(of: type))
        case .choice(let choice, let value):
            writer.number(choice.rawValue)
            writer.number(value)
        case .sparsity(let count):
            writer.number(21)
            for number in [0, 1, 1, 0, count] { writer.number(number) }
        case .file(let names):
            writer.number(30)
            for name in names { writer.number(strings.number(of: name)) }
        case .source(let file, let numbers):
            writer.number(31)
            writer.number(attributes.number(of: file))
            for number in numbers { writer.number(number) }
        case .location(let source, let scope):
            writer.number(40)
            writer.number(attributes.number(of: source))
            writer.number(attributes.number(of: scope))
            for _ in 0..<2 { writer.number(0) }
        case .dictionary(let items):
            writer.number(45)
            list(items, &writer)
        case .unit:
            writer.number(46)
        }
        return writer
    }

    private mutating func list(_ items: [CoreAIAttribute], _ writer: inout ByteWriter) {
        writer.number(items.count)
        for item in items { writer.number(attributes.number(of: item)) }
    }

    private mutating func encoding(_ type: CoreAIType) -> ByteWriter {
        var writer = ByteWriter()
        func shape(_ sizes: [Int], _ element: CoreAIElement) {
            writer.number(sizes.count)
            for size in sizes { writer.signed(Int64(size)) }
            writer.number(types.number(of: .element(element)))
        }
        switch type {
        case .element(let element):
            writer.number(element.rawValue)
        case .tensor(let sizes, let element):
            writer.number(2)
            shape(sizes, element)
        case .sparse(let sizes, let element, let nonZero):
            writer.number(3)
            shape(sizes, element)
            writer.number(attributes.number(of: .sparsity(nonZero: nonZero)))
        case .function(let results, let operands):
            writer.number(30)
            for list in [results, operands] {
                writer.number(list.count)
                for type in list { writer.number(types.number(of: type)) }
            }
        case .handle(let type):
            writer.number(31)
            writer.number(types.number(of: type))
        case .token: writer.number(32)
        case .symbol: writer.number(33)
        }
        return writer
    }
}
