/** Records of a journal that may be larger than memory: what reports ask of every record is held, the rest read again. */
import {closeSync, openSync, readSync} from 'node:fs'
import {unreadable} from './files.js'
import {type FieldSource, keptResult} from './kept-fields.js'
import {KeyColumn} from './key-column.js'
import {cellKey} from './keys.js'
import type {Line} from './lines.js'
import {NumberColumn} from './number-column.js'
import {PackedObjects} from './packed-objects.js'
import {PackedValues} from './packed-values.js'
import {type CellRecord, isSuperseded, type StoredExperiment} from './record.js'

/** Bytes of lines whose records are held whole: what fits of a journal, in its order. */
const HELD_BYTES = 2 ** 23
/** Records that are held for a while beside these: those that were read again last. */
const HELD_LAST = 64

/** What is held of each record beside its cell and its result, and where its line is. */
interface Facts {
  schema: string
  status: CellRecord['status']
  interrupted: boolean
  /** Whether its key is that of its cell. */
  named: boolean
  number: number
  start: number
  bytes: number
}

type Parse = (text: string, where: string) => CellRecord
type Fields = Readonly<Record<string, unknown>>

/** Records in the order of their lines, and which of them are the newest of their cells. */
export class StoredRecords {
  private readonly facts = new PackedObjects()
  private readonly cells = new PackedObjects()
  /** What is kept of results, where not all is. */
  private readonly results = new PackedObjects()
  /** The other results, and why others have none. */
  private readonly others = new PackedValues()
  private readonly kept: ReadonlyMap<string, ReturnType<typeof keptResult>>
  private readonly source: FieldSource
  private readonly held: HeldRecords
  /** Places of the newest records, in the order in which their cells first appeared, and which of them a cell has. */
  private readonly newestPlaces: number[] = []
  private readonly slots = new Map<string, number>()
  private readonly slotOf = new NumberColumn()
  private readonly keys = new KeyColumn()
  /** Keys that are not those of their cells. */
  private readonly strangeKeys = new Map<number, string>()
  private count = 0

  /**
   * @param path - of the journal, which must only grow as long as records of it are asked for
   * @param experiments - whose records there are
   * @param parse - makes a record of a line
   * @param heldBytes - of lines whose records are held whole
   */
  constructor(
    private readonly path: string,
    experiments: readonly StoredExperiment[],
    private readonly parse: Parse,
    heldBytes = HELD_BYTES,
  ) {
    this.held = new HeldRecords(heldBytes)
    this.kept = new Map(
      experiments.flatMap(({schema, kept}) => (kept ? [[schema, keptResult(kept)]] : [])),
    )
    this.source = {
      field: (place, name) => this.results.field(place, name),
      has: (place, name) => this.results.has(place, name),
      whole: place => resultOf(this.whole(place)),
    }
  }

  /** Takes the record of the next line. */
  add(record: CellRecord, {number, start, bytes}: Omit<Line, 'text' | 'last'>): void {
    const place = this.count++
    const {schema, status, key, cell} = record
    const interrupted = status === 'completed' && record.interrupted === true
    const own = cellKey(schema, cell)
    const named = key === own
    const facts: Facts = {schema, status, interrupted, named, number, start, bytes}
    this.keys.push(own)
    this.facts.push(facts as unknown as Fields)
    this.cells.push(cell as Fields)
    const kept = this.kept.get(schema)
    const isPicked = kept !== undefined && status === 'completed'
    this.results.push(isPicked ? kept.pick(record.result as unknown as Fields) : {})
    this.others.push(isPicked ? undefined : endOf(record))
    if (isPicked) this.held.offer(place, record, bytes)
    if (!named) this.strangeKeys.set(place, key)
    const slot = named ? this.slotAt(this.keys.keep(place), place) : this.slotNamed(`${key} ${own}`)
    this.slotOf.push(slot)
    const earlier = this.newestPlaces[slot]
    const before = earlier === undefined ? undefined : new StoredRecord(this, earlier)
    if (isSuperseded(before, record)) this.newestPlaces[slot] = place
  }

  /** The slot of a cell that first appeared at some place, which may be the present one. */
  private slotAt(first: number, place: number): number {
    return first === place ? this.newestPlaces.length : this.slotOf.at(first)
  }

  /** The slot of a cell whose records bear another key. */
  private slotNamed(name: string): number {
    const slot = this.slots.get(name) ?? this.newestPlaces.length
    this.slots.set(name, slot)
    return slot
  }

  /** The newest record of each cell; none can be added after that. */
  newest(): CellRecord[] {
    this.slots.clear()
    return this.newestPlaces.map(place => new StoredRecord(this, place) as unknown as CellRecord)
  }

  fact<Name extends keyof Facts>(place: number, name: Name): Facts[Name] {
    return this.facts.field(place, name) as Facts[Name]
  }

  /** The key that a record bears. */
  key(place: number): string {
    return this.fact(place, 'named') ? this.cellKey(place) : this.strangeKeys.get(place)!
  }

  /** The key that the cell of a record has. */
  cellKey(place: number): string {
    return this.keys.at(place)
  }

  cell(place: number): object {
    return this.cells.object(place)
  }

  /** What stands for the result of a completed record. */
  result(place: number): unknown {
    const kept = this.kept.get(this.fact(place, 'schema'))
    return kept ? new kept.view(this.source, place) : this.other(place).result
  }

  /** How a record ended of which all is held. */
  other(place: number): Fields {
    return this.others.at(place) as Fields
  }

  /** A record with all that it says. @throws {BAD_FILE} where it is to be read again and the file is another one now */
  whole(place: number): CellRecord {
    const [schema, status] = [this.fact(place, 'schema'), this.fact(place, 'status')]
    if (status === 'completed' && this.kept.has(schema)) return this.readAgain(place)
    const [cell, end] = [this.cell(place), this.other(place)]
    return {schema, key: this.key(place), cell, status, ...end} as unknown as CellRecord
  }

  private readAgain(place: number): CellRecord {
    const held = this.held.get(place)
    if (held) return held
    const [start, bytes] = [this.fact(place, 'start'), this.fact(place, 'bytes')]
    const where = `${this.path}:${this.fact(place, 'number')}`
    const record = this.parse(textAt(this.path, start, bytes), where)
    this.held.put(place, record)
    return record
  }
}

/** What a record says beside what all of them say. */
function endOf({
  schema: _schema,
  key: _key,
  cell: _cell,
  status: _status,
  ...end
}: CellRecord): Fields {
  return end
}

function resultOf(record: CellRecord): Fields {
  return (record as {result?: unknown}).result as Fields
}

/** One of many records: a place among them. Its result is made when it is asked for, and its cell anew each time. */
class StoredRecord {
  constructor(
    private readonly all: StoredRecords,
    private readonly place: number,
  ) {}

  get schema() {
    return this.all.fact(this.place, 'schema')
  }

  get status() {
    return this.all.fact(this.place, 'status')
  }

  get key(): string {
    return this.all.key(this.place)
  }

  get cell(): object {
    return this.all.cell(this.place)
  }

  get result(): unknown {
    return this.status === 'completed' ? this.all.result(this.place) : undefined
  }

  get interrupted() {
    return this.all.fact(this.place, 'interrupted') || undefined
  }

  get reason(): unknown {
    return this.status === 'skipped' ? this.all.other(this.place).reason : undefined
  }

  get error(): unknown {
    return this.status === 'failed' ? this.all.other(this.place).error : undefined
  }

  get cellKey(): string {
    return this.all.cellKey(this.place)
  }

  get whole(): CellRecord {
    return this.all.whole(this.place)
  }

  toJSON(): CellRecord {
    return this.whole
  }
}

/** A record with all that it says as its own properties. */
export function wholeRecord(record: CellRecord): CellRecord {
  return (record as unknown) instanceof StoredRecord
    ? (record as unknown as StoredRecord).whole
    : record
}

/** The key that the cell of a record has; its own may be wrong. */
export function cellKeyOf(record: CellRecord): string {
  return (record as unknown) instanceof StoredRecord
    ? (record as unknown as StoredRecord).cellKey
    : cellKey(record.schema, record.cell)
}

/** Whole records by their places: as many as fit, and those that were asked for last. */
class HeldRecords {
  private readonly records = new Map<number, CellRecord>()
  private readonly last = new Map<number, CellRecord>()
  private bytes = 0

  constructor(private readonly most: number) {}

  get(place: number): CellRecord | undefined {
    return this.records.get(place) ?? this.last.get(place)
  }

  /** Holds a record where there is room. */
  offer(place: number, record: CellRecord, bytes: number): void {
    if (this.bytes + bytes > this.most) return
    this.records.set(place, record)
    this.bytes += bytes
  }

  /** Holds a record for a while. */
  put(place: number, record: CellRecord): void {
    const [oldest] = this.last.keys()
    if (this.last.size >= HELD_LAST && oldest !== undefined) this.last.delete(oldest)
    this.last.set(place, record)
  }
}

/** Some bytes of a file as text. @throws {BAD_FILE} where it cannot be read */
function textAt(path: string, start: number, bytes: number): string {
  try {
    const file = openSync(path, 'r')
    try {
      const buffer = Buffer.alloc(bytes)
      readSync(file, buffer, 0, bytes, start)
      return buffer.toString('utf8')
    } finally {
      closeSync(file)
    }
  } catch (error) {
    throw unreadable(path, error)
  }
}
