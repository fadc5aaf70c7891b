import {shownName} from '../../errors.js'

/** What a Python literal can hold, as .npy headers use it. Tuples become arrays. */
export type PythonValue = string | number | boolean | null | PythonValue[] | PythonDict
/** A Python dict with text keys; a Map, so that no key is special. */
export type PythonDict = Map<string, PythonValue>

/** Nesting beyond this is refused, so that a hostile header cannot exhaust the stack. */
const MAX_DEPTH = 16

const ESCAPES: Readonly<Record<string, string>> = {
  n: '\n',
  r: '\r',
  t: '\t',
  '\\': '\\',
  "'": "'",
  '"': '"',
}

/**
 * Reads the one Python literal that a text consists of: dict, tuple, list, str, int, bool or None.
 *
 * @param text - e.g. `{'descr': '<f4', 'fortran_order': False, 'shape': (3, 5), }`; integers may
 *   carry the `L` of Python 2
 * @throws {SyntaxError} naming what was expected and where, on anything else
 */
export function parsePythonLiteral(text: string): PythonValue {
  const reader = new LiteralReader(text)
  const value = reader.value(0)
  reader.end()
  return value
}

/** Recursive descent over the text; every method leaves the position behind what it took. */
class LiteralReader {
  private at = 0

  constructor(private readonly text: string) {}

  /** Any literal. */
  value(depth: number): PythonValue {
    if (depth > MAX_DEPTH) throw this.error(`at most ${MAX_DEPTH} nested brackets`)
    const start = this.peek()
    if (start === '{') return this.dict(depth)
    if (start === '(') return this.tuple(depth)
    if (start === '[') return this.items('[', ']', () => this.value(depth + 1)).values
    if (start === "'" || start === '"') return this.string()
    const word = this.match(/(True|False|None)\b/y)
    if (word !== undefined) return word === 'None' ? null : word === 'True'
    const digits = this.match(/[+-]?\d+/y)
    if (digits === undefined) throw this.error('a Python literal')
    this.match(/[lL]/y)
    return Number(digits)
  }

  /** Nothing may follow but white space. */
  end(): void {
    if (this.peek() !== '') throw this.error('the end')
  }

  /** A dict; a repeated key is refused, where Python would keep the last. */
  private dict(depth: number): PythonDict {
    const dict: PythonDict = new Map()
    this.items('{', '}', () => {
      this.peek()
      const key = this.string()
      if (dict.has(key)) throw this.error(`key ${shownName(key)} once`)
      this.take(':')
      dict.set(key, this.value(depth + 1))
      return null
    })
    return dict
  }

  /** A tuple, or a value in plain parentheses, which is that value. */
  private tuple(depth: number): PythonValue {
    const {values, trailingComma} = this.items('(', ')', () => this.value(depth + 1))
    return values.length === 1 && !trailingComma ? values[0]! : values
  }

  /** Comma-separated items between brackets; a comma may follow the last one. */
  private items(open: string, close: string, item: () => PythonValue) {
    const values: PythonValue[] = []
    let trailingComma = false
    this.take(open)
    while (this.peek() !== close) {
      values.push(item())
      trailingComma = this.peek() === ','
      if (!trailingComma) break
      this.take(',')
    }
    this.take(close)
    return {values, trailingComma}
  }

  /** A text in either quotes, with the escapes of {@link ESCAPES} and no others. */
  private string(): string {
    const quote = this.text[this.at]
    if (quote !== "'" && quote !== '"') throw this.error('a quoted text')
    let out = ''
    for (this.at++; this.text[this.at] !== quote; this.at++) {
      let character = this.text[this.at]
      if (character === '\\') character = ESCAPES[this.text[++this.at] ?? '']
      if (character === undefined) throw this.error('a closed text with simple escapes')
      out += character
    }
    this.at++
    return out
  }

  /** The next character after white space; empty at the end. */
  private peek(): string {
    while (/\s/.test(this.text[this.at] ?? '')) this.at++
    return this.text[this.at] ?? ''
  }

  /** Passes over white space and one given character. */
  private take(character: string): void {
    if (this.peek() !== character) throw this.error(`"${character}"`)
    this.at++
  }

  /** Takes what a sticky pattern finds here, if anything. */
  private match(pattern: RegExp): string | undefined {
    pattern.lastIndex = this.at
    const found = pattern.exec(this.text)?.[0]
    this.at += found?.length ?? 0
    return found
  }

  private error(what: string): SyntaxError {
    const character = this.text[this.at]
    const got = character === undefined ? 'the end' : JSON.stringify(character)
    return new SyntaxError(`expected ${what} at character ${this.at}, got ${got}`)
  }
}
