package redact

import "reflect"

// Strings returns a value without the secrets of all strings in it: of its exported fields, and
// of what these lead to, but for names of images. What is behind pointers, in slices and in maps is copied where it
// changes; the value itself is not changed. A map's value goes by its key, as in [Value].
func Strings[T any](v T) T {
	of := reflect.ValueOf(&v).Elem()
	if out, changed := inside(of); changed {
		of.Set(out)
	}
	return v
}

// inside gives a value without secrets, and whether it differs.
func inside(v reflect.Value) (out reflect.Value, changed bool) {
	switch v.Kind() {
	case reflect.String:
		text := v.String()
		if clean := Text(text); clean != text {
			out = reflect.New(v.Type()).Elem()
			out.SetString(clean)
			return out, true
		}
	case reflect.Struct:
		return insideStruct(v)
	case reflect.Pointer, reflect.Interface:
		return insidePointer(v)
	case reflect.Slice:
		return insideSlice(v)
	case reflect.Map:
		return insideMap(v)
	}
	return v, false
}

func insideStruct(v reflect.Value) (out reflect.Value, changed bool) {
	for i := range v.NumField() {
		if of := v.Type().Field(i); !of.IsExported() || of.Name == "Image" || of.Name == "ImageID" {
			continue // an image's name is none of its registry's passwords: token-api:v2
		}
		field, differs := inside(v.Field(i))
		if !differs {
			continue
		}
		if !changed {
			out = reflect.New(v.Type()).Elem()
			out.Set(v)
			changed = true
		}
		out.Field(i).Set(field)
	}
	if !changed {
		return v, false
	}
	return out, true
}

func insidePointer(v reflect.Value) (out reflect.Value, changed bool) {
	if v.IsNil() {
		return v, false
	}
	elem, changed := inside(v.Elem())
	switch {
	case !changed:
		return v, false
	case v.Kind() == reflect.Interface:
		out = reflect.New(v.Type()).Elem()
		out.Set(elem)
	default:
		out = reflect.New(v.Type().Elem())
		out.Elem().Set(elem)
	}
	return out, true
}

func insideSlice(v reflect.Value) (out reflect.Value, changed bool) {
	if v.Type().Elem().Kind() == reflect.Uint8 {
		return v, false
	}
	for i := range v.Len() {
		elem, differs := inside(v.Index(i))
		if !differs {
			continue
		}
		if !changed {
			out = reflect.MakeSlice(v.Type(), v.Len(), v.Len())
			reflect.Copy(out, v)
			changed = true
		}
		out.Index(i).Set(elem)
	}
	if !changed {
		return v, false
	}
	return out, true
}

func insideMap(v reflect.Value) (out reflect.Value, changed bool) {
	for at := v.MapRange(); at.Next(); {
		key, elem := at.Key(), at.Value()
		clean, differs := inside(elem)
		if key.Kind() == reflect.String && elem.Kind() == reflect.String {
			if text := Value(key.String(), elem.String()); text != elem.String() {
				clean, differs = reflect.ValueOf(text).Convert(elem.Type()), true
			}
		}
		if !differs {
			continue
		}
		if !changed {
			out = reflect.MakeMapWithSize(v.Type(), v.Len())
			for all := v.MapRange(); all.Next(); {
				out.SetMapIndex(all.Key(), all.Value())
			}
			changed = true
		}
		out.SetMapIndex(key, clean)
	}
	if !changed {
		return v, false
	}
	return out, true
}
