/** Many values of plain data, held as their numbers and what is the same of many of them. */
import {NumberColumn} from './number-column.js'

/** What stands for a number in a template. */
const NUMBER = Symbol('number')

/** Any values, the same templates held once: numbers take 8 bytes each, and little else takes room. */
export class PackedValues {
  private readonly templates: unknown[] = []
  private readonly known = new Map<string, number>()
  private readonly templateOf = new NumberColumn()
  private readonly startOf = new NumberColumn()
  private readonly numbers = new NumberColumn()

  /** @param value - objects, lists, texts, numbers, `true`, `false`, `null` and `undefined` */
  push(value: unknown): void {
    this.startOf.push(this.numbers.length)
    const name = this.take(value)
    let template = this.known.get(name)
    if (template === undefined) {
      template = this.templates.push(templateOf(value)) - 1
      this.known.set(name, template)
    }
    this.templateOf.push(template)
  }

  /** A value as it was; a new one each time. */
  at(place: number): unknown {
    let next = this.startOf.at(place)
    const filled = (template: unknown): unknown => {
      if (template === NUMBER) return this.numbers.at(next++)
      if (typeof template !== 'object' || template === null) return template
      if (Array.isArray(template)) return template.map(filled)
      const object: Record<string, unknown> = {...template}
      for (const name in object) object[name] = filled(object[name])
      return object
    }
    return filled(this.templates[this.templateOf.at(place)])
  }

  /** Takes the numbers of a value, and names what is left of it. */
  private take(value: unknown): string {
    if (typeof value === 'number') {
      this.numbers.push(value)
      return '#'
    }
    if (typeof value !== 'object' || value === null) return String(JSON.stringify(value))
    let name = ''
    if (Array.isArray(value)) {
      for (const item of value) name += `${this.take(item)},`
      return `[${name}]`
    }
    for (const [field, own] of Object.entries(value)) {
      name += `${JSON.stringify(field)}:${this.take(own)},`
    }
    return `{${name}}`
  }
}

function templateOf(value: unknown): unknown {
  if (typeof value === 'number') return NUMBER
  if (typeof value !== 'object' || value === null) return value
  if (Array.isArray(value)) return value.map(templateOf)
  return Object.fromEntries(Object.entries(value).map(([name, own]) => [name, templateOf(own)]))
}
