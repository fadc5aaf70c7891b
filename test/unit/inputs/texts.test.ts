import {execFileSync} from 'node:child_process'
import {mkdir, writeFile} from 'node:fs/promises'
import {join} from 'node:path'
import {describe, expect, it} from 'vitest'
import {readTexts} from '../../../src/inputs/texts.js'
import {newFolder} from '../../helpers/folders.js'

async function file(name: string, content: string | Uint8Array): Promise<string> {
  const path = join(await newFolder(), name)
  await writeFile(path, content)
  return path
}

const utf16 = (text: string) => Buffer.from(text, 'utf16le')

describe('texts', () => {
  it.each([
    ['line feeds', 'one\ntwo\n'],
    ['carriage returns too', 'one\r\ntwo\r\n'],
    ['carriage returns alone', 'one\rtwo'],
    ['a byte order mark', '\ufeffone\ntwo\n'],
    ['blank lines', '\n\none\n \t\r\n\ntwo'],
  ])('are the same with %s', async (_, content) => {
    expect((await readTexts(await file('a.txt', content))).texts).toEqual(['one', 'two'])
  })

  it('of a folder end where their file does', async () => {
    const path = await file('a.txt', '\ufeffone\r\ntwo\r\n')
    await mkdir(join(path, '..', 'b.txt'))
    expect((await readTexts(join(path, '..'))).texts).toEqual(['one\ntwo'])
  })

  it('come from the field of each line of a .jsonl file', async () => {
    const lines = '{"text": "one\\ntwo", "id": 1}\r\n\n{"text": ""}\n{"id": 2, "text": "three"}\n'
    expect((await readTexts(await file('a.jsonl', lines))).texts).toEqual(['one\ntwo', 'three'])
  })

  it.each([
    [
      'bytes of Latin-1',
      'a.txt',
      Buffer.from('one\ncaf\xe9\n', 'latin1'),
      /a\.txt, line 2, byte 8: expected UTF-8, got byte 0xe9$/,
    ],
    [
      'a letter that is cut off',
      'a.txt',
      Buffer.from('one \u20ac').subarray(0, 6),
      /line 1, byte 5: expected UTF-8, got byte 0xe2$/,
    ],
    ['UTF-16', 'a.txt', utf16('\ufeffone\n'), /texts in UTF-8, one a line, got UTF-16$/],
    [
      'UTF-16 without a mark',
      'a.txt',
      utf16('one\n'),
      /line 1, byte 2: expected texts in UTF-8, got a byte 0x00/,
    ],
    ['compressed bytes', 'a.txt.gz', Buffer.from([0x1f, 0x8b, 8, 0, 0]), /got a gzip archive$/],
    [
      'a list',
      'a.json',
      '["one", "two"]',
      /a \.jsonl file with lines as \{"text": .*, got a \.json file$/,
    ],
    ['a table', 'a.csv', 'text,id\none,1', /got a \.csv file$/],
    [
      'another field',
      'a.jsonl',
      '{"text": "one"}\n{"content": "two"}',
      /a\.jsonl, line 2: expected an object as \{"text"/,
    ],
    ['a text that is none', 'a.jsonl', '{"text": 5}', /line 1: expected an object as/],
    ['lines that are no JSON', 'a.jsonl', 'one', /line 1: expected an object as .*, got "one"/],
    ['nothing', 'a.txt', '\ufeff \r\n\n', /expected texts, one a line, got none$/],
    ['no bytes', 'a.jsonl', '', /expected texts, one a line, got none$/],
  ] as const)('of %s are refused', async (_, name, content, message) => {
    const refused = readTexts(await file(name, content))
    await expect(refused).rejects.toMatchObject({
      code: 'BAD_FILE',
      message: expect.stringMatching(message),
    })
  })

  it('of a pipe or a device are refused at once', async () => {
    const path = join(await newFolder(), 'a.txt')
    execFileSync('mkfifo', [path])
    await expect(readTexts(path)).rejects.toThrow(/expected a file, got a pipe/)
    await expect(readTexts(join(path, '..'))).rejects.toThrow(/expected a file, got a pipe/)
    await expect(readTexts('/dev/zero')).rejects.toThrow(/expected a file, got a device/)
  })
})
