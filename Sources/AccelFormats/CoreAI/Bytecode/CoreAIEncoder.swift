import AccelByteIO

/// Writes a module as MLIR's bytecode. The bytes depend on the module only.
struct CoreAIEncoder {
    private var tables = CoreAITables()
    private let module: CoreAIModule

    init(_ module: CoreAIModule) { self.module = module }

    /// The bytes of a file, in the order of its parts: everything before the resources, each resource with its header, and
    /// everything after them. Resources are not copied, so that a file of any size can be written.
    struct File {
        var parts: [ByteView]
        var byteCount: Int { parts.reduce(0) { $0 + $1.count } }
    }

    consuming func encoded() -> File {
        typealias Section = CoreAIBytecode.Section
        var operations = ByteWriter()
        operations.number(1, flag: false)
        append(module.root, to: &operations)
        let (attributes, types) = tables.encoded()
        let resourceTable = module.resources.isEmpty ? nil : resourceNames()
        var head = ByteWriter()
        head.append(CoreAIBytecode.magic)
        head.number(CoreAIBytecode.version)
        head.append(CoreAIBytecode.producer)
        head.append(UInt8(0))
        head.section(Section.dialects.rawValue, dialects())
        head.section(Section.offsets.rawValue, offsets(attributes, types))
        var entries = ByteWriter()
        for entry in attributes + types { entries.append(entry.bytes) }
        head.section(Section.entries.rawValue, entries)
        head.section(Section.operations.rawValue, operations)
        var parts: [ByteView] = []
        if let (table, headers, byteCount) = resourceTable {
            head.section(Section.resourceTable.rawValue, table)
            head.append(Section.resources.rawValue | 0x80)
            head.number(byteCount)
            head.number(CoreAIBytecode.alignment)
            head.fill(to: CoreAIBytecode.alignment)
            for (header, resource) in zip(headers, module.resources) {
                parts += [ByteView(header.bytes), resource.content]
            }
        }
        var tail = ByteWriter()
        tail.section(Section.strings.rawValue, strings())
        tail.section(Section.properties.rawValue, properties())
        return File(parts: [ByteView(head.bytes)] + parts + [ByteView(tail.bytes)])
    }

    // MARK: - Operations

    private mutating func append(_ operation: CoreAIOperation, to writer: inout ByteWriter) {
        typealias Part = CoreAIBytecode.Part
        writer.number(tables.names.number(of: operation.name))
        let mask =
            (operation.results.isEmpty ? 0 : Part.results) | (operation.operands.isEmpty ? 0 : Part.operands)
            | (operation.regions.isEmpty ? 0 : Part.regions) | (operation.properties.isEmpty ? 0 : Part.properties)
        writer.append(mask)
        writer.number(tables.attributes.number(of: .nowhere))
        if !operation.properties.isEmpty {
            var properties = ByteWriter()
            for property in operation.properties {
                switch property {
                case .required(let attribute): properties.number(tables.attributes.number(of: attribute))
                case .optional(nil): properties.number(0)
                case .optional(.some(let attribute)):
                    properties.number(tables.attributes.number(of: attribute), flag: true)
                }
            }
            writer.number(tables.properties.number(of: properties.bytes))
        }
        if !operation.results.isEmpty {
            writer.number(operation.results.count)
            for type in operation.results { writer.number(tables.types.number(of: type)) }
        }
        if !operation.operands.isEmpty {
            writer.number(operation.operands.count)
            for operand in operation.operands { writer.number(operand) }
        }
        guard !operation.regions.isEmpty else { return }
        writer.number(operation.regions.count, flag: true)
        for block in operation.regions {
            var region = ByteWriter()
            region.number(1)
            region.number(block.valueCount)
            region.number(block.operations.count, flag: !block.arguments.isEmpty)
            if !block.arguments.isEmpty {
                region.number(block.arguments.count)
                for type in block.arguments {
                    region.number(tables.types.number(of: type), flag: true)
                    region.number(tables.attributes.number(of: .nowhere))
                }
                region.append(UInt8(0))
            }
            for inner in block.operations { append(inner, to: &region) }
            writer.section(CoreAIBytecode.Section.operations.rawValue, region)
        }
    }

    // MARK: - Tables

    private mutating func dialects() -> ByteWriter {
        var (writer, version) = (ByteWriter(), ByteWriter())
        version.number(CoreAIBytecode.dialectVersion)
        writer.number(1)
        writer.number(tables.strings.number(of: CoreAIBytecode.dialect), flag: true)
        writer.section(CoreAIBytecode.Section.dialectVersions.rawValue, version)
        writer.number(tables.names.items.count)
        writer.number(0)
        writer.number(tables.names.items.count)
        for name in tables.names.items { writer.number(tables.strings.number(of: name), flag: true) }
        return writer
    }

    private func offsets(_ attributes: [ByteWriter], _ types: [ByteWriter]) -> ByteWriter {
        var writer = ByteWriter()
        writer.number(attributes.count)
        writer.number(types.count)
        for group in [attributes, types] {
            writer.number(0)
            writer.number(group.count)
            for entry in group { writer.number(entry.count, flag: true) }
        }
        return writer
    }

    /// Returns the table of resources, the header of each, and the bytes of all with their headers.
    private mutating func resourceNames() -> (table: ByteWriter, headers: [ByteWriter], byteCount: Int) {
        var (table, headers, end) = (ByteWriter(), [ByteWriter](), 0)
        table.number(0)
        table.number(0)
        table.number(module.resources.count)
        for resource in module.resources {
            var header = ByteWriter()
            header.number(CoreAIBytecode.alignment)
            header.number(resource.content.count)
            header.fill(to: CoreAIBytecode.alignment, from: end)
            table.number(tables.strings.number(of: resource.key))
            table.number(header.count + resource.content.count)
            table.append(UInt8(0))
            end += header.count + resource.content.count
            headers.append(header)
        }
        return (table, headers, end)
    }

    private func strings() -> ByteWriter {
        var writer = ByteWriter()
        writer.number(tables.strings.items.count)
        for text in tables.strings.items.reversed() { writer.number(text.utf8.count + 1) }
        for text in tables.strings.items {
            writer.append(text)
            writer.append(UInt8(0))
        }
        return writer
    }

    private func properties() -> ByteWriter {
        var writer = ByteWriter()
        writer.number(tables.properties.items.count)
        for item in tables.properties.items {
            writer.number(item.count)
            writer.append(item)
        }
        return writer
    }
}
