// Command shrink shortens the translation of a WebAssembly module without changing its behavior:
//
//	shrink translated.go >shorter.go
//
// It introduces helpers for loads and stores, and replaces each name that is used once by its value. It removes wrappers from constants
// whose neighbours determine the type, dissolves blocks that declare nothing, and shortens the names of functions.
package main

import (
	"bytes"
	"go/ast"
	"go/format"
	"go/parser"
	"go/scanner"
	"go/token"
	"log"
	"maps"
	"os"
	"reflect"
	"regexp"
	"slices"
	"strings"
)

// Helpers that access the memory by an address and the offset of an instruction, in the same way as the translator's
// own helpers.
const helpers = `
//go:nosplit
func (m *Module) lb(a int32, o uint64) int32 { return int32(m.memory[uint64(uint32(a))+o]) }

//go:nosplit
func (m *Module) sb(a int32, o uint64, v int32) { m.memory[uint64(uint32(a))+o] = byte(v) }

//go:nosplit
func (m *Module) lh(a int32, o uint64) int32 {
	o += uint64(uint32(a))
	return int32(binary.LittleEndian.Uint16(m.memory[:0:len(m.memory)][o : o+2 : o+2]))
}

//go:nosplit
func (m *Module) sh(a int32, o uint64, v int32) {
	o += uint64(uint32(a))
	binary.LittleEndian.PutUint16(m.memory[:0:len(m.memory)][o:o+2:o+2], uint16(v))
}

//go:nosplit
func (m *Module) l(a int32, o uint64) int32 {
	o += uint64(uint32(a))
	return int32(binary.LittleEndian.Uint32(m.memory[:0:len(m.memory)][o : o+4 : o+4]))
}

//go:nosplit
func (m *Module) s(a int32, o uint64, v int32) {
	o += uint64(uint32(a))
	binary.LittleEndian.PutUint32(m.memory[:0:len(m.memory)][o:o+4:o+4], uint32(v))
}

//go:nosplit
func (m *Module) ll(a int32, o uint64) int64 {
	o += uint64(uint32(a))
	return int64(binary.LittleEndian.Uint64(m.memory[:0:len(m.memory)][o : o+8 : o+8]))
}

//go:nosplit
func (m *Module) sl(a int32, o uint64, v int64) {
	o += uint64(uint32(a))
	binary.LittleEndian.PutUint64(m.memory[:0:len(m.memory)][o:o+8:o+8], uint64(v))
}

//go:nosplit
func (m *Module) rb(a int32) int32 { return m.lb(a, 0) }

//go:nosplit
func (m *Module) wb(a, v int32) { m.sb(a, 0, v) }

//go:nosplit
func (m *Module) r(a int32) int32 { return m.l(a, 0) }

//go:nosplit
func (m *Module) w(a, v int32) { m.s(a, 0, v) }

//go:nosplit
func (m *Module) rl(a int32) int64 { return m.ll(a, 0) }

//go:nosplit
func (m *Module) wl(a int32, v int64) { m.sl(a, 0, v) }
`

var (
	translated = regexp.MustCompile(`^(fn\d+|X\w+)$`)
	temporary  = regexp.MustCompile(`^t\d+$`)
	loads      = map[string]string{"int32 load16": "lh", "int32 load32": "l", "int64 load64": "ll"}
	stores     = map[string]string{"store16 uint16": "sh", "store32 uint32": "s", "store64 uint64": "sl"}
	values     = map[string]string{"sh": "int32", "s": "int32", "sl": "int64"} // types of the values that a store takes
	// Helpers without an offset.
	unshifted = map[string]string{"lb": "rb", "l": "r", "ll": "rl", "sb": "wb", "s": "w", "sl": "wl"}
	longName  = regexp.MustCompile(`^fn\d+$`)
)

func main() {
	log.SetFlags(0)
	text, err := os.ReadFile(os.Args[1])
	if err == nil {
		text, err = shrink(text)
	}
	if err == nil {
		_, err = os.Stdout.Write(text)
	}
	if err != nil {
		log.Fatal(err)
	}
}

// shrink shortens the translated functions, and does not change anything else.
func shrink(text []byte) ([]byte, error) {
	files := token.NewFileSet()
	file, err := parser.ParseFile(files, "", text, parser.ParseComments)
	if err != nil {
		return nil, err
	}
	results := resultsOf(file)
	var out bytes.Buffer
	at := 0
	for _, declaration := range file.Decls {
		function, ok := declaration.(*ast.FuncDecl)
		if !ok || !translated.MatchString(function.Name.Name) {
			continue
		}
		out.Write(text[at:files.Position(function.Pos()).Offset])
		at = files.Position(function.End()).Offset
		shorten(function, results)
		forgetPositions(reflect.ValueOf(function))
		if err := format.Node(&out, token.NewFileSet(), function); err != nil {
			return nil, err
		}
	}
	out.Write(text[at:])
	out.WriteString(helpers)
	return format.Source(withShortNames(out.Bytes()))
}

// withShortNames writes fn12 as f12, but not in literals.
func withShortNames(text []byte) []byte {
	files := token.NewFileSet()
	file := files.AddFile("", -1, len(text))
	var names scanner.Scanner
	names.Init(file, text, nil, 0)
	var out bytes.Buffer
	at := 0
	for {
		position, kind, name := names.Scan()
		if kind == token.EOF {
			break
		}
		if kind == token.IDENT && longName.MatchString(name) {
			begin := file.Offset(position)
			out.Write(text[at:begin])
			out.WriteString("f" + name[2:])
			at = begin + len(name)
		}
	}
	out.Write(text[at:])
	return out.Bytes()
}

// resultsOf returns the result types of functions by their names.
func resultsOf(file *ast.File) map[string]string {
	results := map[string]string{"i32": "int32", "i64": "int64", "l": "int32", "lb": "int32", "lh": "int32", "ll": "int64", "g0": "int32"}
	for _, declaration := range file.Decls {
		if function, ok := declaration.(*ast.FuncDecl); ok && function.Type.Results != nil {
			results[function.Name.Name] = name(function.Type.Results.List[0].Type)
		}
	}
	return results
}

func shorten(function *ast.FuncDecl, results map[string]string) {
	rewriteExpressions(reflect.ValueOf(function.Body), kindsOf(function, results))
	uses := map[string]int{}
	ast.Inspect(function.Body, func(node ast.Node) bool {
		if name, ok := node.(*ast.Ident); ok {
			uses[name.Name]++
		}
		return true
	})
	shortenLists(function.Body, uses)
	dropZeroOffsets(function.Body)
}

// dropZeroOffsets writes `m.l(v0, 0)` as `m.r(v0)`.
func dropZeroOffsets(root ast.Node) {
	ast.Inspect(root, func(node ast.Node) bool {
		call, ok := node.(*ast.CallExpr)
		if !ok {
			return true
		}
		function, ok := call.Fun.(*ast.SelectorExpr)
		if !ok || name(function.X) != "m" || len(call.Args) < 2 {
			return true
		}
		offset, ok := call.Args[1].(*ast.BasicLit)
		if short := unshifted[function.Sel.Name]; ok && short != "" && offset.Value == "0" {
			function.Sel = ast.NewIdent(short)
			call.Args = slices.Delete(call.Args, 1, 2)
		}
		return true
	})
}

// shortenLists shortens every list of statements, starting with the innermost lists.
func shortenLists(root ast.Node, uses map[string]int) {
	var lists []*[]ast.Stmt
	ast.Inspect(root, func(node ast.Node) bool {
		switch with := node.(type) {
		case *ast.BlockStmt:
			lists = append(lists, &with.List)
		case *ast.CaseClause:
			lists = append(lists, &with.Body)
		}
		return true
	})
	for i := len(lists) - 1; i >= 0; i-- {
		list := lists[i]
		*list = dissolveBlocks(substituteOnce(chooseInPlace(*list, uses), uses))
	}
}

// substituteOnce turns `t1 := value; use(t1)` into `use(value)` if nothing can happen between the two statements.
func substituteOnce(list []ast.Stmt, uses map[string]int) []ast.Stmt {
	for i := len(list) - 2; i >= 0; i-- {
		assignment, ok := list[i].(*ast.AssignStmt)
		if !ok || assignment.Tok != token.DEFINE || len(assignment.Lhs) != 1 {
			continue
		}
		name := assignment.Lhs[0].(*ast.Ident).Name
		value := assignment.Rhs[0]
		if !temporary.MatchString(name) || uses[name] != 2 || untyped(value) {
			continue
		}
		// A call runs before everything in the next statement only if that statement does nothing except keep the
		// result of the call.
		if substitute(list[i+1], name, value, isPure(value)) || onlyLocals(value) && substituteLater(list[i+1:], name, value) {
			list = append(list[:i], list[i+1:]...)
		}
	}
	return list
}

// substituteLater replaces the name in a later statement by a value that is computed from locals, unless one of the
// locals may have changed by then.
func substituteLater(list []ast.Stmt, name string, value ast.Expr) bool {
	for _, statement := range list {
		if _, ok := statement.(*ast.LabeledStmt); ok {
			return false // a jump back to it would compute the value again
		}
		if mentions(statement, name) {
			return (isAssignment(statement) || !changes(statement, value)) && replaceName(reflect.ValueOf(statement), name, value) &&
				bareResult(statement)
		}
		if changes(statement, value) {
			return false
		}
	}
	return false
}

// chooseInPlace turns `p1 := a; if condition { p1 = b }; v0 = p1` into `v0 = a; if condition { v0 = b }`, unless the
// condition or b needs the earlier v0.
func chooseInPlace(list []ast.Stmt, uses map[string]int) []ast.Stmt {
	for i := len(list) - 3; i >= 0; i-- {
		first, ok := list[i].(*ast.AssignStmt)
		if !ok || first.Tok != token.DEFINE || len(first.Lhs) != 1 || uses[name(first.Lhs[0])] != 3 {
			continue
		}
		choice, ok := list[i+1].(*ast.IfStmt)
		if !ok || choice.Else != nil || len(choice.Body.List) != 1 {
			continue
		}
		chosen := name(first.Lhs[0])
		second, ok := choice.Body.List[0].(*ast.AssignStmt)
		last, isLast := list[i+2].(*ast.AssignStmt)
		if !ok || !isLast || last.Tok != token.ASSIGN || name(second.Lhs[0]) != chosen || name(last.Rhs[0]) != chosen {
			continue
		}
		kept := name(last.Lhs[0])
		if kept == "" || mentions(choice, kept) {
			continue
		}
		first.Lhs, first.Tok, second.Lhs = last.Lhs, token.ASSIGN, last.Lhs
		first.Rhs[0] = bare(first.Rhs[0])
		list = append(list[:i+2], list[i+3:]...)
	}
	return list
}

func isAssignment(statement ast.Stmt) bool {
	assignment, ok := statement.(*ast.AssignStmt)
	return ok && len(assignment.Lhs) == 1
}

func mentions(root ast.Node, wanted string) bool {
	found := false
	ast.Inspect(root, func(node ast.Node) bool {
		identifier, ok := node.(*ast.Ident)
		found = found || ok && identifier.Name == wanted
		return !found
	})
	return found
}

// changes reports whether the statement assigns to a local from which the value is computed.
func changes(statement ast.Stmt, value ast.Expr) bool {
	found := false
	ast.Inspect(statement, func(node ast.Node) bool {
		if assignment, ok := node.(*ast.AssignStmt); ok {
			for _, target := range assignment.Lhs {
				found = found || name(target) != "" && mentions(value, name(target))
			}
		}
		return !found
	})
	return found
}

// substitute replaces the name by the value in the part of the statement that runs first.
func substitute(statement ast.Stmt, name string, value ast.Expr, pure bool) bool {
	var part *ast.Expr
	switch s := statement.(type) {
	case *ast.AssignStmt:
		if len(s.Rhs) != 1 || len(s.Lhs) != 1 {
			return false
		}
		part = &s.Rhs[0]
		if _, plain := s.Lhs[0].(*ast.Ident); !plain && !pure {
			return false
		}
	case *ast.IfStmt:
		part = &s.Cond
	case *ast.SwitchStmt:
		part = &s.Tag
	case *ast.ExprStmt:
		part = &s.X
	case *ast.ReturnStmt:
		if len(s.Results) != 1 {
			return false
		}
		part = &s.Results[0]
	default:
		return false
	}
	if !pure && !onlyLocals(*part) || pure && !isPure(*part) && !callsLast(*part) {
		return false
	}
	return replaceName(reflect.ValueOf(part).Elem(), name, value) && bareResult(statement)
}

// bareResult removes the wrapper of a constant if the statement only assigns the constant.
func bareResult(statement ast.Stmt) bool {
	if assignment, ok := statement.(*ast.AssignStmt); ok && assignment.Tok == token.ASSIGN {
		assignment.Rhs[0] = bare(assignment.Rhs[0])
	}
	return true
}

// replaceName replaces the one use of the name by the value. The printer adds the parentheses.
func replaceName(value reflect.Value, name string, by ast.Expr) bool {
	switch value.Kind() {
	case reflect.Interface:
		if value.IsNil() {
			return false
		}
		if found, ok := value.Interface().(*ast.Ident); ok && found.Name == name {
			value.Set(reflect.ValueOf(by))
			return true
		}
		return replaceName(value.Elem(), name, by)
	case reflect.Pointer:
		if value.IsNil() || value.Type() == reflect.TypeFor[*ast.Object]() {
			return false
		}
		return replaceName(value.Elem(), name, by)
	case reflect.Struct:
		for i := range value.NumField() {
			if replaceName(value.Field(i), name, by) {
				return true
			}
		}
	case reflect.Slice:
		for i := range value.Len() {
			if replaceName(value.Index(i), name, by) {
				return true
			}
		}
	}
	return false
}

// isPure reports whether the value is computed from locals and the memory without changing anything.
func isPure(value ast.Expr) bool {
	pure := true
	ast.Inspect(value, func(node ast.Node) bool {
		call, ok := node.(*ast.CallExpr)
		if ok && !harmless(call) {
			pure = false
		}
		return pure
	})
	return pure
}

// callsLast reports whether a call that changes something runs after its arguments, and nothing runs after the call.
func callsLast(value ast.Expr) bool {
	call, ok := value.(*ast.CallExpr)
	if !ok {
		return false
	}
	for _, argument := range call.Args {
		if !isPure(argument) {
			return false
		}
	}
	return true
}

func onlyLocals(value ast.Expr) bool {
	local := isPure(value)
	ast.Inspect(value, func(node ast.Node) bool {
		switch node.(type) {
		case *ast.SelectorExpr, *ast.IndexExpr:
			local = false
		}
		return local
	})
	return local
}

// harmless reports whether the call is a conversion, a load or arithmetic.
func harmless(call *ast.CallExpr) bool {
	switch function := call.Fun.(type) {
	case *ast.Ident:
		return !translated.MatchString(function.Name) && !strings.HasPrefix(function.Name, "store") &&
			!strings.HasPrefix(function.Name, "memory_") && function.Name != "panic"
	case *ast.SelectorExpr:
		owner, _ := function.X.(*ast.Ident)
		if owner == nil {
			return false
		}
		switch function.Sel.Name {
		case "l", "lb", "lh", "ll":
			return owner.Name == "m"
		}
		return owner.Name == "math" || owner.Name == "bits"
	}
	return false
}

// untyped reports whether the value on its own would have another type.
func untyped(value ast.Expr) bool {
	_, literal := value.(*ast.BasicLit)
	return literal
}

// dissolveBlocks keeps only blocks that declare names, because no goto may jump over a declaration. It drops `v0 = v0`.
func dissolveBlocks(list []ast.Stmt) []ast.Stmt {
	var flat []ast.Stmt
	for _, statement := range list {
		if kept, ok := statement.(*ast.AssignStmt); ok && kept.Tok == token.ASSIGN && name(kept.Lhs[0]) != "" && name(kept.Lhs[0]) == name(kept.Rhs[0]) {
			continue
		}
		block, ok := statement.(*ast.BlockStmt)
		if !ok || declares(block.List) {
			flat = append(flat, statement)
			continue
		}
		flat = append(flat, block.List...)
	}
	return flat
}

func declares(list []ast.Stmt) bool {
	for _, statement := range list {
		for {
			labeled, ok := statement.(*ast.LabeledStmt)
			if !ok {
				break
			}
			statement = labeled.Stmt
		}
		switch s := statement.(type) {
		case *ast.DeclStmt:
			return true
		case *ast.AssignStmt:
			if s.Tok == token.DEFINE {
				return true
			}
		}
	}
	return false
}

// rewriteExpressions rewrites all expressions, starting with the innermost ones.
func rewriteExpressions(value reflect.Value, kinds map[string]string) {
	switch value.Kind() {
	case reflect.Interface:
		if value.IsNil() {
			return
		}
		rewriteExpressions(value.Elem(), kinds)
		if expression, ok := value.Interface().(ast.Expr); ok {
			value.Set(reflect.ValueOf(shorterExpression(expression)))
		} else if statement, ok := value.Interface().(ast.Stmt); ok {
			value.Set(reflect.ValueOf(shorterStatement(statement, kinds)))
		}
	case reflect.Pointer:
		if !value.IsNil() && value.Type() != reflect.TypeFor[*ast.Object]() {
			rewriteExpressions(value.Elem(), kinds)
		}
	case reflect.Struct:
		for i := range value.NumField() {
			rewriteExpressions(value.Field(i), kinds)
		}
	case reflect.Slice:
		for i := range value.Len() {
			rewriteExpressions(value.Index(i), kinds)
		}
	}
}

func shorterExpression(expression ast.Expr) ast.Expr {
	switch e := expression.(type) {
	case *ast.BinaryExpr:
		switch e.Op {
		case token.ADD, token.SUB, token.MUL, token.AND, token.OR, token.XOR, token.EQL, token.NEQ, token.LSS, token.LEQ, token.GTR, token.GEQ:
			if constant(e.X) == nil && constant(e.Y) != nil {
				plusNegative(e)
			}
			besideUnsigned(e)
		case token.QUO, token.REM:
			besideUnsigned(e)
		}
	case *ast.CallExpr:
		if name(e.Fun) == "int32" || name(e.Fun) == "int64" {
			return shorterLoad(e)
		}
		// Arguments of translated functions get the declared types of the parameters.
		if selector, ok := e.Fun.(*ast.SelectorExpr); ok && translated.MatchString(selector.Sel.Name) || translated.MatchString(name(e.Fun)) {
			for i := range e.Args {
				e.Args[i] = bare(e.Args[i])
			}
		}
	}
	return expression
}

// besideUnsigned writes `uint32(v0) > uint32(i32(9))` as `uint32(v0) > 9`: the constant gets the type of its neighbour.
func besideUnsigned(e *ast.BinaryExpr) {
	if unsigned(e.X) == unsigned(e.Y) && unsigned(e.X) != "" && unsignedConstant(e.X) == nil {
		if value := unsignedConstant(e.Y); value != nil {
			e.Y = value
		}
	}
}

// unsigned returns the type to which the value is converted if that type is unsigned; otherwise an empty string.
func unsigned(value ast.Expr) string {
	call, ok := value.(*ast.CallExpr)
	if !ok || name(call.Fun) != "uint32" && name(call.Fun) != "uint64" {
		return ""
	}
	return name(call.Fun)
}

// unsignedConstant returns the positive number in uint32(i32(9)) and uint64(i64(9)).
func unsignedConstant(value ast.Expr) ast.Expr {
	if unsigned(value) == "" {
		return nil
	}
	number, ok := constant(value.(*ast.CallExpr).Args[0]).(*ast.BasicLit)
	if !ok || number.Value == "0" {
		return nil
	}
	return number
}

// plusNegative writes a constant on the right of an operator without its wrapper, and `+ -1` as `- 1`.
func plusNegative(e *ast.BinaryExpr) {
	e.Y = bare(e.Y)
	if negative, ok := e.Y.(*ast.UnaryExpr); ok && (e.Op == token.ADD || e.Op == token.SUB) {
		e.Y = negative.X
		if e.Op == token.ADD {
			e.Op = token.SUB
		} else {
			e.Op = token.ADD
		}
	}
}

// constant returns the constant that i32 or i64 wraps.
func constant(value ast.Expr) ast.Expr {
	call, ok := value.(*ast.CallExpr)
	if !ok || name(call.Fun) != "i32" && name(call.Fun) != "i64" {
		return nil
	}
	return call.Args[0]
}

func bare(value ast.Expr) ast.Expr {
	if wrapped := constant(value); wrapped != nil {
		return wrapped
	}
	return value
}

func name(value ast.Expr) string {
	if identifier, ok := value.(*ast.Ident); ok {
		return identifier.Name
	}
	return ""
}

// int32(load32(m.memory, ADDRESS)) and int32(m.memory[ADDRESS])
func shorterLoad(conversion *ast.CallExpr) ast.Expr {
	switch inner := conversion.Args[0].(type) {
	case *ast.CallExpr:
		short, ok := loads[name(conversion.Fun)+" "+name(inner.Fun)]
		if !ok {
			return conversion
		}
		if base, offset := address(inner.Args[1]); base != nil {
			return onModule(short, base, offset)
		}
	case *ast.IndexExpr:
		if base, offset := address(inner.Index); base != nil && name(conversion.Fun) == "int32" {
			return onModule("lb", base, offset)
		}
	}
	return conversion
}

func shorterStatement(statement ast.Stmt, kinds map[string]string) ast.Stmt {
	switch s := statement.(type) {
	case *ast.ExprStmt:
		return shorterStore(s, kinds)
	case *ast.AssignStmt:
		if s.Tok != token.ASSIGN || len(s.Lhs) != 1 {
			return s
		}
		s.Rhs[0] = bare(s.Rhs[0])
		target, ok := s.Lhs[0].(*ast.IndexExpr)
		if !ok {
			return changeInPlace(s)
		}
		value, ok := s.Rhs[0].(*ast.CallExpr)
		if base, offset := address(target.Index); base != nil && ok && name(value.Fun) == "byte" {
			return &ast.ExprStmt{X: onModule("sb", base, offset, as("int32", value.Args[0], kinds))}
		}
	case *ast.ReturnStmt:
		for i := range s.Results {
			s.Results[i] = bare(s.Results[i])
		}
	}
	return statement
}

var inPlace = map[token.Token]token.Token{
	token.ADD: token.ADD_ASSIGN, token.SUB: token.SUB_ASSIGN, token.MUL: token.MUL_ASSIGN,
	token.AND: token.AND_ASSIGN, token.OR: token.OR_ASSIGN, token.XOR: token.XOR_ASSIGN,
}

// changeInPlace writes `v0 = v0 + 1` as `v0 += 1`.
func changeInPlace(s *ast.AssignStmt) ast.Stmt {
	sum, ok := s.Rhs[0].(*ast.BinaryExpr)
	if !ok || name(s.Lhs[0]) == "" || name(s.Lhs[0]) != name(sum.X) || inPlace[sum.Op] == 0 {
		return s
	}
	return &ast.AssignStmt{Lhs: s.Lhs, Tok: inPlace[sum.Op], Rhs: []ast.Expr{sum.Y}}
}

// store32(m.memory, ADDRESS, uint32(VALUE))
func shorterStore(statement *ast.ExprStmt, kinds map[string]string) ast.Stmt {
	call, ok := statement.X.(*ast.CallExpr)
	if !ok || len(call.Args) != 3 {
		return statement
	}
	value, ok := call.Args[2].(*ast.CallExpr)
	if !ok {
		return statement
	}
	short, ok := stores[name(call.Fun)+" "+name(value.Fun)]
	if !ok {
		return statement
	}
	base, offset := address(call.Args[1])
	if base == nil {
		return statement
	}
	return &ast.ExprStmt{X: onModule(short, base, offset, as(values[short], value.Args[0], kinds))}
}

// `as` converts the value to the type, because the translator may also store the low bits of a longer number.
func as(kind string, value ast.Expr, kinds map[string]string) ast.Expr {
	if kindOf(value, kinds) == kind {
		return bare(value)
	}
	return &ast.CallExpr{Fun: ast.NewIdent(kind), Args: []ast.Expr{value}}
}

// kindsOf returns the types of the names in a function, and the result types of the functions that it calls.
func kindsOf(function *ast.FuncDecl, results map[string]string) map[string]string {
	kinds := maps.Clone(results)
	fields := func(list *ast.FieldList) {
		for _, field := range list.List {
			for _, of := range field.Names {
				kinds[of.Name] = name(field.Type)
			}
		}
	}
	fields(function.Type.Params)
	ast.Inspect(function.Body, func(node ast.Node) bool {
		switch n := node.(type) {
		case *ast.ValueSpec:
			for _, of := range n.Names {
				kinds[of.Name] = name(n.Type)
			}
		case *ast.AssignStmt:
			if n.Tok == token.DEFINE && len(n.Lhs) == 1 {
				kinds[name(n.Lhs[0])] = kindOf(n.Rhs[0], kinds)
			}
		}
		return true
	})
	return kinds
}

// kindOf returns the type of a value, or an empty string if the type is not obvious.
func kindOf(value ast.Expr, kinds map[string]string) string {
	switch v := value.(type) {
	case *ast.Ident:
		return kinds[v.Name]
	case *ast.ParenExpr:
		return kindOf(v.X, kinds)
	case *ast.BinaryExpr:
		if kind := kindOf(v.X, kinds); kind != "" || v.Op == token.SHL || v.Op == token.SHR {
			return kind
		}
		return kindOf(v.Y, kinds)
	case *ast.CallExpr:
		switch function := v.Fun.(type) {
		case *ast.Ident:
			if kind, ok := kinds[function.Name]; ok {
				return kind
			}
			return function.Name // of a conversion
		case *ast.SelectorExpr:
			return kinds[function.Sel.Name]
		}
	case *ast.SelectorExpr:
		return kinds[v.Sel.Name] // m.g0
	}
	return ""
}

// address splits uint64(uint32(BASE))+OFFSET and uint32(BASE).
func address(value ast.Expr) (base, offset ast.Expr) {
	offset = &ast.BasicLit{Kind: token.INT, Value: "0"}
	if sum, ok := value.(*ast.BinaryExpr); ok && sum.Op == token.ADD {
		wide, ok := sum.X.(*ast.CallExpr)
		if !ok || name(wide.Fun) != "uint64" {
			return nil, nil
		}
		value, offset = wide.Args[0], sum.Y
	}
	narrow, ok := value.(*ast.CallExpr)
	if !ok || name(narrow.Fun) != "uint32" {
		return nil, nil
	}
	return bare(narrow.Args[0]), offset
}

func onModule(function string, arguments ...ast.Expr) ast.Expr {
	return &ast.CallExpr{Fun: &ast.SelectorExpr{X: ast.NewIdent("m"), Sel: ast.NewIdent(function)}, Args: arguments}
}

// forgetPositions removes positions, so that the printer chooses the line breaks.
func forgetPositions(value reflect.Value) {
	switch value.Kind() {
	case reflect.Interface, reflect.Pointer:
		if !value.IsNil() && value.Type() != reflect.TypeFor[*ast.Object]() {
			forgetPositions(value.Elem())
		}
	case reflect.Struct:
		for i := range value.NumField() {
			forgetPositions(value.Field(i))
		}
	case reflect.Slice:
		for i := range value.Len() {
			forgetPositions(value.Index(i))
		}
	case reflect.Int:
		if value.Type() == reflect.TypeFor[token.Pos]() {
			value.SetInt(0)
		}
	}
}
