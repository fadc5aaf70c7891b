import {describe, expect, it} from 'vitest'
import {html, joined, nameMarkup, prose, raw} from '../../../../src/report/html/markup.js'

describe('html', () => {
  it('escapes every text between tags and in attributes, and no markup', () => {
    const hostile = `</script><img src=x onerror='a("b")'>&`
    const safe = '&lt;/script&gt;&lt;img src=x onerror=&#39;a(&quot;b&quot;)&#39;&gt;&amp;'
    expect(html`<p title="${hostile}">${hostile}</p>`.text).toBe(`<p title="${safe}">${safe}</p>`)
    expect(html`<p>${raw('<b>')}${[html`${1}`, html`${'<'}`]}</p>`.text).toBe('<p><b>1&lt;</p>')
  })
})

describe('joined', () => {
  it('puts text between pieces only', () => {
    expect(joined([raw('a'), raw('b')], ', ').text).toBe('a, b')
    expect(joined([]).text).toBe('')
  })
})

describe('prose', () => {
  it('keeps words from right to left among themselves', () => {
    expect(prose('file שלום עולם, 5 <').text).toBe('file <bdi>שלום עולם</bdi>, 5 &lt;')
  })
})

describe('nameMarkup', () => {
  it('lets paths break behind slashes, never within a tag', () => {
    expect(nameMarkup('a/b/<אב').text).toBe('a/<wbr>b/<wbr>&lt;<bdi>אב</bdi>')
  })
})
