/** Many plain objects that are alike, held as what they share and columns of their numbers. */
import {NumberColumn} from './number-column.js'

/** What stands for a number in what objects share. */
const NUMBER = Symbol('number')

/** What objects share that differ in their numbers alone. */
interface Kind {
  /** Fields, with {@link NUMBER} in the place of each number. */
  fields: Readonly<Record<string, unknown>>
  numbers: readonly {field: string; column: NumberColumn}[]
}

/**
 * A list of objects without their numbers held once for all that are the same but for these: right for cells and results of one
 * run, which differ in little else.
 */
export class PackedObjects {
  private readonly kinds: Kind[] = []
  private readonly known = new Map<string, number>()
  private readonly kindOf = new NumberColumn()
  private readonly columns = new Map<string, NumberColumn>()

  /** @param value - of plain data; what is no number at its top is held as it is, and must not be changed */
  push(value: Readonly<Record<string, unknown>>): void {
    const place = this.kindOf.length
    let name = ''
    for (const [field, own] of Object.entries(value)) {
      if (typeof own === 'number') this.column(field, place).push(own)
      name += typeof own === 'number' ? `${field}\n` : `${field}:${JSON.stringify(own)}\n`
    }
    let kind = this.known.get(name)
    if (kind === undefined) {
      kind = this.kinds.push(this.kindLike(value)) - 1
      this.known.set(name, kind)
    }
    this.kindOf.push(kind)
  }

  /** The column of a field, as long as there were objects before this one. */
  private column(field: string, length: number): NumberColumn {
    const column = this.columns.get(field) ?? new NumberColumn()
    this.columns.set(field, column)
    while (column.length < length) column.push(0)
    return column
  }

  /** Whether an object has a field. */
  has(place: number, field: string): boolean {
    return Object.hasOwn(this.kindAt(place).fields, field)
  }

  /** A field of an object; `undefined` where it has none. */
  field(place: number, field: string): unknown {
    const value = this.kindAt(place).fields[field]
    return value === NUMBER ? this.columns.get(field)!.at(place) : value
  }

  /** An object as it was, fields in their order; a new one each time. */
  object(place: number): Record<string, unknown> {
    const {fields, numbers} = this.kindAt(place)
    const object: Record<string, unknown> = {...fields}
    for (const {field, column} of numbers) object[field] = column.at(place)
    return object
  }

  private kindAt(place: number): Kind {
    return this.kinds[this.kindOf.at(place)]!
  }

  private kindLike(value: Readonly<Record<string, unknown>>): Kind {
    const fields = Object.entries(value).map(([field, own]) => [
      field,
      typeof own === 'number' ? NUMBER : own,
    ])
    const names = Object.keys(value).filter(field => typeof value[field] === 'number')
    return {
      fields: Object.fromEntries(fields),
      numbers: names.map(field => ({field, column: this.columns.get(field)!})),
    }
  }
}
