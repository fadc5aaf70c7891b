import {describe, expect, it} from 'vitest'
import {commandIds as ids, loadCommand as load} from '../helpers/commands.js'

const folder = new URL('../../commands/', import.meta.url)

interface Flag {
  type: string
  char?: string
  multiple?: boolean
  required?: boolean
  allowNo?: boolean
}

/** A flag as one line, e.g. `-m option, multiple`. */
function signature({type, char, multiple, required, allowNo}: Flag): string {
  const facts = {multiple, required, 'with --no-': allowNo}
  const marks = Object.entries(facts).flatMap(([name, on]) => (on ? [name] : []))
  return [char ? `-${char} ${type}` : type, ...marks].join(', ')
}

async function surface(id: string) {
  const {flags, baseFlags, args} = await load(id)
  const all = Object.entries({...baseFlags, ...flags}).sort(([a], [b]) => (a < b ? -1 : 1))
  return {
    args: Object.fromEntries(
      Object.entries(args).map(([name, arg]) => [name, signature({type: 'argument', ...arg})]),
    ),
    flags: Object.fromEntries(all.map(([name, flag]) => [name, signature(flag as Flag)])),
  }
}

describe('the commands', () => {
  it('have the names and flags of command-snapshot.json', async () => {
    const entries = await Promise.all(ids.map(async id => [id, await surface(id)] as const))
    const text = `${JSON.stringify(Object.fromEntries(entries), null, 2)}\n`
    await expect(text).toMatchFileSnapshot('command-snapshot.json')
  })

  it.each(ids)('%s has no choice among flags in its usage that lacks one side', async id => {
    const {flags, usage} = await load(id)
    if (usage !== undefined) return // written by hand
    const choices = Object.values(flags as Record<string, {exclusive?: string[]}>).flatMap(
      ({exclusive = []}) => exclusive,
    )
    expect(choices.filter(name => !(name in flags))).toEqual([])
    expect(new Set(choices).size).toBe(choices.length)
  })

  it.each(ids)('%s has a summary, its exit codes, and examples with long flags', async id => {
    const {summary, description, examples, enableJsonFlag} = await load(id)
    expect(summary).toMatch(/^[A-Z].*[^.]$/)
    expect(description).toContain('Exit codes:')
    expect(enableJsonFlag).toBe(true)
    for (const example of examples) expect(example).toMatch(new RegExp(`^<%= config.bin %> ${id}`))
    expect(examples.join(' ')).not.toMatch(/ -\w /)
  })

  it.each(ids)('%s describes each of its flags and arguments', async id => {
    const {flags, baseFlags, args} = await load(id)
    for (const [name, {description}] of Object.entries({...baseFlags, ...flags, ...args})) {
      expect(description, name).toMatch(/\S/)
    }
  })

  it('keep their files within 120 lines and their run() within 25', async () => {
    const {readFile} = await import('node:fs/promises')
    for (const id of ids) {
      const source = await readFile(new URL(`${id}.ts`, folder), 'utf8')
      expect(source.split('\n').length, id).toBeLessThanOrEqual(121)
      const body = /\n {2}async run\(\) \{\n([\s\S]*?)\n {2}\}\n/.exec(source)?.[1] ?? ''
      expect(body.split('\n').length, id).toBeLessThanOrEqual(25)
    }
  })
})
