// The theme without its web font, with the styles of formulas and of the home page's figures.
import Theme from 'vitepress/theme-without-fonts'
import 'katex/dist/katex.min.css'
import './style.css'

export default Theme
