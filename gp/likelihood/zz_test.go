package likelihood
import ("testing";"fmt";"gorgonia.org/tensor";"math")
func TestZZ(t *testing.T){
 fmt.Println(legendre.x, legendre.w)
 s:=0.0
 for _,w:=range legendre.w {s+=w}
 fmt.Println(s)
 st := NewStudentT(2.685710608307599,0.5496389312200575,true,tensor.Float64)
 d := st.Predict(2.4494421571718648, 0.4394510507768859)
 y := 27.449442157171866
 for _,h:=range []float64{.01,.003} {
 a:=0.0
 for x:=-4000.0; x<4000; x+=h { t:=x+h/2; F:=d.CDF(t); if t>y {F=1-F}; a+=F*F*h }
 fmt.Println(h,a, CRPS(d,y,Number)) }
 for _,r := range []float64{-40,-30,-20,-10,-5} { fmt.Println(r, d.CDF(2.4494421571718648+r)) 
  a:=0.0
  for v:=-60.0; v<0; v+=1e-3 { x := r-1e-0*0 + (math.Expm1(-v))*-1; a+=math.Exp(d.LogDensity(2.4494421571718648+x))*math.Exp(-v)*1e-3 }
  fmt.Println(a)
 }
}
